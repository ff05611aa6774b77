//! What the streams say is missing.

use std::path::Path;

use stowplan_ctf::CtfError;
use stowplan_ctf::reader::{Lost, LostKind};

use super::Adapter;
use crate::event::{Discard, DiscardScope};

impl Adapter {
    /// What a damaged stream still had to say is missing from `from_ns` on, until it
    /// goes on.
    pub(super) fn damaged(&mut self, error: &CtfError, from_ns: i64, resumes_ns: Option<i64>) {
        let CtfError::Stream {
            file,
            offset,
            fault,
        } = error
        else {
            return;
        };
        // Of a note beside the streams nothing is missing.
        if *offset == 0 && fault.is_text() {
            return;
        }
        let folder = Path::new(file).parent();
        for (at, trace) in (0u32..).zip(&self.traces) {
            if folder == Some(&trace.folder) {
                self.builder.discard(Discard {
                    scope: DiscardScope::Trace(self.processes.name(at).to_owned()),
                    from_ns,
                    to_ns: resumes_ns.map_or(i64::MAX, |ns| ns.saturating_sub(self.epoch_ns)),
                    // How many events is not known.
                    count: 0,
                });
            }
        }
    }

    pub(super) fn lost(&mut self, lost: &Lost) {
        if lost.kind == LostKind::Packets {
            self.discarded_packets += lost.count;
        }
        let time = |ns: Option<i64>, otherwise| {
            ns.map_or(otherwise, |ns: i64| ns.saturating_sub(self.epoch_ns))
        };
        let trace = lost.trace as usize;
        if self.traces[trace].has_scheduler {
            let to_ns = time(lost.end_ns, i64::MAX);
            let host = self.processes.host(trace);
            self.builder.discard_scheduler(host, to_ns);
        }
        self.builder.discard(Discard {
            scope: DiscardScope::Trace(self.processes.name(lost.trace).to_owned()),
            from_ns: time(lost.begin_ns, i64::MIN),
            to_ns: time(lost.end_ns, i64::MAX),
            count: match lost.kind {
                LostKind::Events => lost.count,
                // How many events they had is not known.
                LostKind::Packets => 0,
            },
        });
    }
}
