//! A headless Chromium, over the pipe of its DevTools protocol.

use std::collections::VecDeque;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use anyhow::{Context, Result, bail, ensure};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::process;

/// A page in a browser of its own.
pub struct Browser {
    process: Child,
    to: ChildStdin,
    from: BufReader<ChildStdout>,
    /// The number of the last command.
    last: u64,
    session: Option<String>,
    events: VecDeque<Value>,
    _profile: TempDir,
}

impl Browser {
    /// Starts the program, with an empty page.
    pub fn start(program: &Path) -> Result<Self> {
        let profile = tempfile::tempdir()?;
        let mut command = Command::new("sh");
        // Chromium reads commands from descriptor 3 and writes answers to descriptor 4.
        command.args(["-c", r#"exec "$0" "$@" 3<&0 4>&1 </dev/null >/dev/null 2>/dev/null"#]);
        command.arg(program).args(["--remote-debugging-pipe", "--hide-scrollbars"]);
        command.arg("--window-size=1400,900");
        // The sandbox needs namespaces, which root in a container does not have.
        command.args(process::is_root().then_some("--no-sandbox"));
        command.arg(format!("--user-data-dir={}", profile.path().display()));
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut process = command.spawn().context("the browser cannot be started")?;
        let to = process.stdin.take().context("a pipe")?;
        let from = BufReader::new(process.stdout.take().context("a pipe")?);
        let (session, events) = (None, VecDeque::new());
        let mut browser = Self { process, to, from, last: 0, session, events, _profile: profile };
        let target = browser.call("Target.createTarget", json!({ "url": "about:blank" }))?;
        let attach = json!({ "targetId": target["targetId"], "flatten": true });
        let attached = browser.call("Target.attachToTarget", attach)?;
        browser.session = attached["sessionId"].as_str().map(str::to_owned);
        for domain in ["Page", "Runtime", "Network", "Log", "Accessibility"] {
            browser.call(&format!("{domain}.enable"), json!({}))?;
        }
        Ok(browser)
    }

    /// Opens a file, and waits until it is loaded. Returns the addresses of all requests, and the messages on
    /// the console.
    pub fn open(&mut self, file: &Path, fragment: &str) -> Result<(Vec<String>, Vec<String>)> {
        // A page with another fragment alone would not be loaded again.
        self.call("Page.navigate", json!({ "url": "about:blank" }))?;
        self.wait_for("Page.loadEventFired")?;
        self.events.clear();
        let url = format!("file://{}{fragment}", file.display());
        self.call("Page.navigate", json!({ "url": url }))?;
        self.wait_for("Page.loadEventFired")?;
        // An answer of the page comes after the events before it.
        self.evaluate("new Promise((done) => requestAnimationFrame(() => setTimeout(done, 50)))")?;
        let (mut requests, mut messages) = (Vec::new(), Vec::new());
        for event in self.events.drain(..) {
            let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
            match event["method"].as_str().unwrap_or_default() {
                "Network.requestWillBeSent" => {
                    requests.push(text(&event["params"]["request"]["url"]));
                }
                "Log.entryAdded" => messages.push(text(&event["params"]["entry"]["text"])),
                "Runtime.exceptionThrown" => {
                    messages.push(event["params"]["exceptionDetails"].to_string());
                }
                _ => {}
            }
        }
        Ok((requests, messages))
    }

    /// Lets the page see a setting of the user: `light` or `dark`.
    pub fn set_color_scheme(&mut self, scheme: &str) -> Result<()> {
        let feature = json!({ "name": "prefers-color-scheme", "value": scheme });
        self.call("Emulation.setEmulatedMedia", json!({ "features": [feature] }))?;
        Ok(())
    }

    /// Sets the width of the window in pixels, or the first one again.
    pub fn set_width(&mut self, width: Option<u32>) -> Result<()> {
        match width {
            Some(width) => self.call(
                "Emulation.setDeviceMetricsOverride",
                json!({ "width": width, "height": 900, "deviceScaleFactor": 1, "mobile": false }),
            )?,
            None => self.call("Emulation.clearDeviceMetricsOverride", json!({}))?,
        };
        Ok(())
    }

    /// Presses a key: a name such as `Tab`, or a character.
    pub fn press(&mut self, key: &str) -> Result<()> {
        let code = match key {
            "Tab" => 9,
            "Enter" => 13,
            "Escape" => 27,
            "ArrowLeft" => 37,
            "ArrowUp" => 38,
            "ArrowRight" => 39,
            "ArrowDown" => 40,
            _ => 0,
        };
        let text = match key {
            "Enter" => Some("\r"),
            key if key.len() == 1 => Some(key),
            _ => None,
        };
        let mut down =
            json!({ "type": "keyDown", "key": key, "code": key, "windowsVirtualKeyCode": code });
        if let Some(text) = text {
            down["text"] = text.into();
        }
        self.call("Input.dispatchKeyEvent", down)?;
        let up = json!({ "type": "keyUp", "key": key, "code": key, "windowsVirtualKeyCode": code });
        self.call("Input.dispatchKeyEvent", up)?;
        Ok(())
    }

    /// Returns the value of an expression in the page. A promise is waited for.
    pub fn evaluate(&mut self, expression: &str) -> Result<Value> {
        let arguments =
            json!({ "expression": expression, "returnByValue": true, "awaitPromise": true });
        let answer = self.call("Runtime.evaluate", arguments)?;
        if let Some(error) = answer.get("exceptionDetails") {
            bail!("`{expression}` throws {error}");
        }
        Ok(answer["result"]["value"].clone())
    }

    /// Returns a text of the page.
    pub fn text(&mut self, expression: &str) -> Result<String> {
        let value = self.evaluate(expression)?;
        let text = value.as_str().with_context(|| format!("`{expression}` is {value}, no text"))?;
        Ok(text.to_owned())
    }

    /// Returns the nodes that assistive programs see.
    pub fn accessible_nodes(&mut self) -> Result<Vec<Value>> {
        let mut tree = self.call("Accessibility.getFullAXTree", json!({}))?;
        match tree["nodes"].take() {
            Value::Array(nodes) => Ok(nodes),
            other => bail!("no tree: {other}"),
        }
    }

    /// Sends a command and returns its answer.
    fn call(&mut self, method: &str, arguments: Value) -> Result<Value> {
        self.last += 1;
        let mut command = json!({ "id": self.last, "method": method, "params": arguments });
        if let Some(session) = &self.session {
            command["sessionId"] = session.as_str().into();
        }
        write!(self.to, "{command}\0").context("the browser has ended")?;
        loop {
            let mut message = self.receive()?;
            if message["id"] == self.last {
                ensure!(message.get("error").is_none(), "{method}: {}", message["error"]);
                return Ok(message["result"].take());
            }
            self.events.push_back(message);
        }
    }

    fn wait_for(&mut self, event: &str) -> Result<()> {
        let is_it = |message: &Value| message["method"] == event;
        while !self.events.iter().any(is_it) {
            let message = self.receive()?;
            self.events.push_back(message);
        }
        Ok(())
    }

    fn receive(&mut self) -> Result<Value> {
        let mut message = Vec::new();
        self.from.read_until(0, &mut message)?;
        ensure!(message.pop() == Some(0), "the browser has ended");
        Ok(serde_json::from_slice(&message)?)
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
