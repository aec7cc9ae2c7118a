//! Properties of every answer.

use super::*;

topics! {
    have_values_or_reasons:
        each_measurement_has_a_value_with_evidence_or_a_reason, exhaustion_has_a_value_or_a_reason
}

fn have_values_or_reasons(context: &Context, topic: Topic) {
    let all = measured(context, topic);
    let names: Vec<_> = all.iter().map(|measured| measured.name.as_str()).collect();
    assert_eq!(names, topic.measurements());
    for measured in &all {
        match &measured.answer {
            Ok(finding) => make_sense(&measured.name, finding),
            Err(missing) => assert!(!missing.reason.is_empty(), "{}", measured.name),
        }
        for series in &measured.series {
            let [first, ..] = &series.points[..] else { panic!("{}: no points", measured.name) };
            for point in &series.points {
                assert_eq!(point.samples.len(), first.samples.len(), "{}", measured.name);
                assert!(point.samples.iter().all(|sample| sample.is_finite()), "{series:?}");
            }
            assert!(!first.samples.is_empty(), "{}", measured.name);
        }
    }
}

/// Finite, and of the right side of zero.
fn make_sense(name: &str, finding: &Finding) {
    assert!(finding.spread.is_finite() && finding.spread >= 0.0, "{name}: {finding:?}");
    let numbers = match &finding.value {
        Value::Number(number) => std::slice::from_ref(number),
        Value::Numbers(numbers) => numbers,
        Value::Flag(_) | Value::Name(_) => &[],
    };
    // Nothing takes no time at all, and nothing that is counted or sized is there 0 times.
    for number in numbers {
        assert!(number.is_finite() && *number > 0.0, "{name}: {finding:?}");
    }
}

/// Each topic is among those of `topics`.
#[test]
fn all_topics_are_tested() {
    assert_eq!(Topic::ALL.len(), 11);
}
