//! A log whose names and texts try to be more than text.

use anyhow::Result;
use serde_json::Value;

/// The texts, as the page must show them.
pub const TEXTS: [&str; 7] = [
    "</script><script>window.hostile = 1</script>",
    "<img src=\"https://example.invalid/x.png\" onerror=\"window.hostile = 1\">",
    "]]><!-- &lt;b&gt; --> ${hostile} `",
    "line\u{2028}separators\u{2029}here",
    "\u{5e9}\u{5dc}\u{5d5}\u{5dd} \u{202e}right to left",
    "it's \"quoted\" \\ \\n $(touch x) [id=c0-0] * 100% #?&=+;",
    "\u{1f980} \u{1f468}\u{200d}\u{1f469}\u{200d}\u{1f467} emoji",
];

/// The name of a test of the log that is changed.
const TEST: &str = "faulty::fails_an_assertion";

/// Returns the log of a run with these texts as the name of its failed test, as its message, and as its
/// outputs, one of which has a line of 1 MB.
pub fn log(log: &str) -> Result<String> {
    let all = TEXTS.join(" ");
    let mut hostile = String::new();
    for line in log.lines() {
        let mut event: Value = serde_json::from_str(line)?;
        rename(&mut event, &format!("faulty::{all}"));
        if event["outcome"] == "failed" {
            event["message"] = TEXTS.join("\n").into();
            event["stdout"] = all.clone().into();
            event["stderr"] = format!("{all}{}{all}", "x".repeat(1 << 20)).into();
        }
        if event["event"] == "run" {
            event["host"] = all.clone().into();
            event["environment"] = serde_json::json!({ "OCL_ICD_VENDORS": all });
        }
        hostile += &format!("{event}\n");
    }
    Ok(hostile)
}

/// Gives the test another name, wherever a text begins with its name.
fn rename(value: &mut Value, name: &str) {
    match value {
        Value::String(text) => {
            if let Some(rest) = text.strip_prefix(TEST) {
                *text = format!("{name}{rest}");
            }
        }
        Value::Array(values) => values.iter_mut().for_each(|value| rename(value, name)),
        Value::Object(fields) => fields.values_mut().for_each(|value| rename(value, name)),
        _ => {}
    }
}
