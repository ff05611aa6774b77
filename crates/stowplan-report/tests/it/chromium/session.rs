//! A page that is asked and typed into, through the browser's debugging pipe.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::{Value, json};

/// What of a window matters to a page.
#[derive(Debug, Clone, Copy)]
pub struct Window {
    pub width: u32,
    pub height: u32,
    pub dark: bool,
}

impl Window {
    /// Of a laptop.
    pub const WIDE: Self = Self {
        width: 1280,
        height: 800,
        dark: false,
    };
    /// Of a phone that lies on its side, or of half a screen.
    pub const NARROW: Self = Self {
        width: 480,
        height: 800,
        dark: true,
    };
}

/// An open page.
pub struct Session {
    browser: Child,
    asking: ChildStdin,
    answers: BufReader<ChildStdout>,
    id: String,
    messages: u64,
    _profile: tempfile::TempDir,
}

impl Session {
    /// Opens a page and waits until its script ended; `None` without a browser.
    pub fn open(page: &Path, window: Window) -> Option<Self> {
        let chromium = super::found()?;
        let profile = tempfile::tempdir().unwrap();
        // The browser speaks on descriptors 3 and 4.
        let mut command = Command::new("sh");
        command
            .args(["-c", "exec \"$0\" \"$@\" 3<&0 4>&1 </dev/null >/dev/null"])
            .arg(chromium)
            .args(super::ARGUMENTS)
            .arg("--remote-debugging-pipe")
            .arg(format!("--user-data-dir={}", profile.path().display()))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null());
        let mut browser = command.spawn().unwrap();
        let mut session = Self {
            asking: browser.stdin.take().unwrap(),
            answers: BufReader::new(browser.stdout.take().unwrap()),
            browser,
            id: String::new(),
            messages: 0,
            _profile: profile,
        };
        session.prepare(window);
        session.call(
            "Page.navigate",
            json!({"url": format!("file://{}", page.display())}),
        );
        // An answer means that the page is there; the next one waits for its script.
        while session.ask("location.protocol") != "file:" {}
        session.ask(
            "new Promise(done => { const look = () => document.documentElement?.dataset.ready \
             ? done(true) : setTimeout(look, 20); look(); })",
        );
        Some(session)
    }

    fn prepare(&mut self, window: Window) {
        let target = self.call("Target.createTarget", json!({"url": "about:blank"}));
        let target = target["targetId"].clone();
        let attached = json!({"targetId": target, "flatten": true});
        let session = self.call("Target.attachToTarget", attached);
        session["sessionId"]
            .as_str()
            .unwrap()
            .clone_into(&mut self.id);
        self.call(
            "Emulation.setDeviceMetricsOverride",
            json!({"width": window.width, "height": window.height, "deviceScaleFactor": 1, "mobile": false}),
        );
        let theme = if window.dark { "dark" } else { "light" };
        self.call(
            "Emulation.setEmulatedMedia",
            json!({"features": [{"name": "prefers-color-scheme", "value": theme}]}),
        );
    }

    /// Calls a method of the debugging protocol.
    fn call(&mut self, method: &str, parameters: Value) -> Value {
        self.messages += 1;
        let mut message = json!({"id": self.messages, "method": method, "params": parameters});
        if !self.id.is_empty() {
            message["sessionId"] = json!(self.id);
        }
        self.asking
            .write_all(format!("{message}\0").as_bytes())
            .unwrap();
        loop {
            let mut answer = Vec::new();
            self.answers.read_until(0, &mut answer).unwrap();
            assert_eq!(answer.pop(), Some(0), "the browser ended at {method}");
            let answer: Value = serde_json::from_slice(&answer).unwrap();
            if answer["id"] == self.messages {
                assert_eq!(answer.get("error"), None, "{method}");
                return answer["result"].clone();
            }
        }
    }

    /// Value of an expression in the page; waits for promises.
    pub fn ask(&mut self, expression: &str) -> Value {
        let result = self.call(
            "Runtime.evaluate",
            json!({"expression": expression, "awaitPromise": true, "returnByValue": true}),
        );
        assert_eq!(result.get("exceptionDetails"), None, "{expression}");
        result["result"]["value"].clone()
    }

    /// Presses a key that has no character, by its name.
    pub fn press(&mut self, key: &str) {
        let code = match key {
            "Tab" => 9,
            "End" => 35,
            "Home" => 36,
            "ArrowRight" => 39,
            "ArrowDown" => 40,
            _ => panic!("no code is known of {key}"),
        };
        for kind in ["rawKeyDown", "keyUp"] {
            let parameters =
                json!({"type": kind, "key": key, "code": key, "windowsVirtualKeyCode": code});
            self.call("Input.dispatchKeyEvent", parameters);
        }
    }

    /// Opens every section and waits until all figures are drawn.
    pub fn unfold(&mut self) {
        self.ask(
            "document.querySelectorAll('details.section').forEach(one => { one.open = true; }); \
             new Promise(done => { const look = () => \
             [...document.querySelectorAll('figure')].every(f => f.dataset.marks || f.dataset.error) \
             ? done(true) : setTimeout(look, 20); look(); })",
        );
    }

    /// The document as it stands.
    pub fn document(&mut self) -> String {
        let text = self.ask("document.documentElement.outerHTML");
        text.as_str().unwrap().to_owned()
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.browser.kill();
        let _ = self.browser.wait();
    }
}
