//! One line of an event log.

use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::events::Event;

/// A line that has been read.
pub(super) struct Line {
    /// The event; `None` if this version does not know it.
    pub(super) event: Option<Event>,
    /// The number of fields that this version does not know.
    pub(super) unknown_fields: u64,
}

#[derive(Deserialize)]
struct Tag {
    event: String,
}

impl Line {
    pub(super) fn read(text: &[u8]) -> serde_json::Result<Self> {
        let Tag { event: tag } = serde_json::from_slice(text)?;
        let mut unknown_fields = 0;
        let count = &mut unknown_fields;
        let event = match tag.as_str() {
            "run" => Event::Run(parse(text, count)?),
            "expectation" => Event::Expectation(parse(text, count)?),
            "device" => Event::Device(parse(text, count)?),
            "plan" => Event::Plan(parse(text, count)?),
            "plan-device" => Event::PlanDevice(parse(text, count)?),
            "device-absent" => Event::DeviceAbsent(parse(text, count)?),
            "driver-failed" => Event::DriverFailed(parse(text, count)?),
            "characterized" => Event::Characterized(parse(text, count)?),
            "measured" => Event::Measured(parse(text, count)?),
            "worker-started" => Event::WorkerStarted(parse(text, count)?),
            "started" => Event::Started(parse(text, count)?),
            "finished" => Event::Finished(parse(text, count)?),
            "probed" => Event::Probed(parse(text, count)?),
            "sees-others" => Event::SeesOthers(parse(text, count)?),
            "left" => Event::Left(parse(text, count)?),
            "device-lost" => Event::DeviceLost(parse(text, count)?),
            "end" => Event::End(parse(text, count)?),
            "resumed" => Event::Resumed(parse(text, count)?),
            _ => return Ok(Self { event: None, unknown_fields: 0 }),
        };
        Ok(Self { event: Some(event), unknown_fields })
    }
}

/// Parses an event and counts the fields that it does not have.
fn parse<T: DeserializeOwned>(text: &[u8], unknown_fields: &mut u64) -> serde_json::Result<T> {
    *unknown_fields = 0;
    let mut deserializer = serde_json::Deserializer::from_slice(text);
    serde_ignored::deserialize(&mut deserializer, |path| {
        // The tag is no field of the event.
        *unknown_fields += u64::from(path.to_string() != "event");
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_fields_are_counted_in_each_event() {
        let test = r#"{"path":"s::t","file":"t.rs","line":1,"color":"red"}"#;
        let failure = r#""driver":"x.icd","kind":"hung","reason":"no answer""#;
        let lines = [
            format!(r#"{{"event":"plan","tests":[{{"path":"s::a"}},{test}]}}"#),
            format!(r#"{{"event":"driver-failed",{failure},"strict":true,"color":"red"}}"#),
            r#"{"event":"characterized","device":"d","properties":{"a":"b"},"color":"red"}"#
                .to_owned(),
        ];
        for line in lines {
            let read = Line::read(line.as_bytes()).unwrap();
            assert!(read.event.is_some() && read.unknown_fields == 1, "{line}");
        }
    }
}
