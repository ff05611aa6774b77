//! Calls over a link that is made up: it is cut, late, or says what is no reply.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::io;
use std::rc::Rc;

use super::*;

/// What a link does when it is read.
#[derive(Debug, Clone)]
enum Does {
    Says(String),
    NothingForNow,
    Ends,
}

/// A link that follows a script, and keeps how it was ended.
#[derive(Debug)]
struct Scripted {
    script: VecDeque<Does>,
    takes_calls: bool,
    endings: Rc<RefCell<Vec<Ending>>>,
}

impl Transport for Scripted {
    fn send(&mut self, _: &[u8]) -> io::Result<()> {
        if self.takes_calls {
            Ok(())
        } else {
            Err(io::ErrorKind::BrokenPipe.into())
        }
    }

    fn receive(&mut self, into: &mut [u8], _: Duration) -> io::Result<Received> {
        match self.script.pop_front() {
            Some(Does::Says(text)) => {
                into[..text.len()].copy_from_slice(text.as_bytes());
                Ok(Received::Bytes(text.len()))
            }
            Some(Does::NothingForNow) | None => Ok(Received::Nothing),
            Some(Does::Ends) => Ok(Received::End),
        }
    }

    fn end(&mut self, how: Ending) -> String {
        self.endings.borrow_mut().push(how);
        "exit status: 0".to_owned()
    }

    fn name(&self) -> String {
        "agent".to_owned()
    }

    fn pid(&self) -> u32 {
        7
    }
}

fn pipe(script: &[Does], takes_calls: bool) -> (Pipe, Rc<RefCell<Vec<Ending>>>) {
    let endings = Rc::default();
    let link = Scripted {
        script: script.iter().cloned().collect(),
        takes_calls,
        endings: Rc::clone(&endings),
    };
    (Pipe::new(Box::new(link)), endings)
}

fn says(text: &str) -> Does {
    Does::Says(text.to_owned())
}

const CLOCK: &str = "{\"id\":1,\"result\":{\"Ok\":{\"clock\":5}}}\n";

#[test]
fn a_reply_may_come_in_parts_and_after_that_to_another_call() {
    let (before, after) = CLOCK.split_at(9);
    let script = [
        says("{\"id\":0,\"result\":{\"Ok\":\"done\"}}\n"),
        says(before),
        Does::NothingForNow,
        says(after),
    ];
    let (mut pipe, endings) = pipe(&script, true);
    assert_eq!(pipe.call(Call::Clock).unwrap(), Answer::Clock(5));
    drop(pipe);
    assert_eq!(*endings.borrow(), [Ending::Farewell(FAREWELL)]);
}

#[test]
fn a_broken_link_says_how_it_broke_and_stays_broken() {
    let of_gone = (FailureKind::Gone, Ending::Farewell(LAST_WAIT));
    let of_late = (FailureKind::Timeout, Ending::Kill);
    for (script, takes_calls, words, (kind, ending)) in [
        (vec![], false, "is gone", of_gone),
        (vec![says("{\"id\""), Does::Ends], true, "ended", of_gone),
        (
            vec![says("hello\n")],
            true,
            "said what is no reply",
            of_gone,
        ),
        (
            vec![Does::NothingForNow],
            true,
            "gave no reply in time",
            of_late,
        ),
    ] {
        let (mut pipe, endings) = pipe(&script, takes_calls);
        let error = pipe.call_within(Duration::ZERO, Call::Clock).unwrap_err();
        let told = format!("agent {words} during Clock: exit status: 0");
        assert_eq!((error.kind, error.message.as_str()), (kind, &*told));
        assert_eq!(error.hint.as_deref(), Some(CLEAN));
        let again = pipe.call(Call::Clock).unwrap_err();
        assert_eq!((again.kind, again.message), (kind, told));
        drop(pipe);
        let farewell = Ending::Farewell(FAREWELL);
        assert_eq!(*endings.borrow(), [ending, farewell], "{words}");
    }
}

#[test]
fn what_an_agent_refuses_breaks_nothing() {
    let failure = "{\"id\":1,\"result\":{\"Err\":{\"kind\":\"refused\",\"message\":\"no\",\"hint\":null,\"service\":null,\"log\":null}}}\n";
    let second = CLOCK.replace("\"id\":1", "\"id\":2");
    let (mut pipe, _) = pipe(&[says(failure), says(&second)], true);
    let error = pipe.call(Call::Clock).unwrap_err();
    assert_eq!((error.kind, &*error.message), (FailureKind::Refused, "no"));
    assert_eq!(pipe.call(Call::Clock).unwrap(), Answer::Clock(5));
}
