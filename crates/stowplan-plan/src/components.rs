//! Strongly connected components (Tarjan 1972), without recursion: stacks have long chains.

/// The components of a graph given as successor lists; each comes after all that it leads to.
pub(crate) fn strongly_connected(edges: &[Vec<usize>]) -> Vec<Vec<usize>> {
    const UNSEEN: usize = usize::MAX;
    let mut order = vec![UNSEEN; edges.len()];
    let mut low = vec![UNSEEN; edges.len()];
    let mut open = vec![false; edges.len()];
    let mut stack = Vec::new();
    let mut components = Vec::new();
    let mut next = 0;
    for root in 0..edges.len() {
        if order[root] != UNSEEN {
            continue;
        }
        let mut path = vec![(root, 0)];
        while let Some((vertex, edge)) = path.last_mut() {
            let vertex = *vertex;
            if *edge == 0 {
                order[vertex] = next;
                low[vertex] = next;
                next += 1;
                stack.push(vertex);
                open[vertex] = true;
            }
            if let Some(to) = edges[vertex].get(*edge) {
                *edge += 1;
                if order[*to] == UNSEEN {
                    path.push((*to, 0));
                } else if open[*to] {
                    low[vertex] = low[vertex].min(order[*to]);
                }
                continue;
            }
            path.pop();
            if let Some((parent, _)) = path.last() {
                low[*parent] = low[*parent].min(low[vertex]);
            }
            if low[vertex] == order[vertex] {
                let from = stack.iter().rposition(|v| *v == vertex).unwrap_or(0);
                let members = stack.split_off(from);
                for member in &members {
                    open[*member] = false;
                }
                components.push(members);
            }
        }
    }
    components
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chain_comes_back_to_front() {
        assert_eq!(
            strongly_connected(&[vec![1], vec![2], vec![]]),
            [[2], [1], [0]]
        );
    }

    #[test]
    fn a_circle_is_one_component() {
        let mut components = strongly_connected(&[vec![1], vec![2], vec![0, 3], vec![]]);
        components[1].sort_unstable();
        assert_eq!(components, [vec![3], vec![0, 1, 2]]);
    }

    #[test]
    fn a_chain_of_a_million_needs_no_call_stack() {
        let edges: Vec<Vec<usize>> = (1..=1_000_000)
            .map(|i| if i < 1_000_000 { vec![i] } else { vec![] })
            .collect();
        assert_eq!(strongly_connected(&edges).len(), 1_000_000);
    }
}
