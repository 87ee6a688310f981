//! Log records of OpenTelemetry, as OTLP/HTTP takes them in JSON. A view, never the evidence: collectors sample and drop.
//!
//! There is no convention for verdicts yet, so those are `toolgate.*`; the tool, the call and the session have the names of the GenAI
//! conventions beside them, so that they can be joined with what a client itself sends.

use serde_json::{Value, json};
use toolgate_model::Decision;

use super::{Detail, milliseconds};
use crate::{Digest, Record};

/// A record as a log record.
pub fn log_record(origin: &str, line: &[u8], record: &Record, detail: Detail) -> Value {
    let (number, text) = match record.decision.known() {
        Some(Decision::Allow | Decision::Contain) if record.would.is_some() => (13, "WARN"),
        Some(Decision::Allow | Decision::Contain) => (9, "INFO"),
        Some(Decision::Ask) | None => (13, "WARN"),
        Some(Decision::Deny) => (17, "ERROR"),
    };
    let finding = record.findings.first();
    let named = [
        ("gen_ai.operation.name", if record.tool.is_empty() { "" } else { "execute_tool" }),
        ("gen_ai.tool.name", &record.tool),
        ("gen_ai.tool.call.id", &record.call),
        ("gen_ai.conversation.id", &record.session),
        ("gen_ai.agent.name", &record.agent),
        ("toolgate.host", &record.host),
        ("toolgate.event", &record.event),
        ("toolgate.decision", record.decision.as_str()),
        ("toolgate.would", record.would.as_ref().map_or("", |would| would.as_str())),
        ("toolgate.answer", record.answer.as_ref().map_or("", |answer| answer.as_str())),
        ("toolgate.policy", finding.map_or("", |finding| &finding.policy)),
        ("toolgate.rule", finding.map_or("", |finding| &finding.rule)),
        ("toolgate.containment", record.contained.as_ref().map_or("", |contained| &contained.level)),
        ("toolgate.input", &record.input),
        ("toolgate.rules", &record.rules),
        ("toolgate.log.origin", origin),
        ("toolgate.log.sha256", &Digest::of(line).hex()),
        ("host.name", &record.machine),
        ("user.name", &record.user),
    ];
    let mut attributes: Vec<Value> = named
        .iter()
        .filter(|(_, value)| !value.is_empty())
        .map(|(name, value)| attribute(name, value))
        .collect();
    attributes.push(json!({"key": "toolgate.log.seq", "value": {"intValue": record.seq.to_string()}}));
    if detail == Detail::WithText {
        attributes.push(attribute("toolgate.root", &record.root));
        let args: serde_json::Map<_, _> =
            record.args.iter().map(|(name, value)| (name.clone(), json!(value))).collect();
        attributes.push(attribute("gen_ai.tool.call.arguments", &Value::Object(args).to_string()));
        attributes.extend(finding.map(|finding| attribute("toolgate.message", &finding.message)));
    }
    let nanoseconds = format!("{}000000", milliseconds(record));
    json!({
        "timeUnixNano": nanoseconds,
        "observedTimeUnixNano": nanoseconds,
        "severityNumber": number,
        "severityText": text,
        "eventName": "toolgate.verdict",
        "body": {"stringValue": format!("{} {}", record.decision.as_str(), if record.tool.is_empty() { &record.event } else { &record.tool })},
        "attributes": attributes,
    })
}

fn attribute(name: &str, value: &str) -> Value {
    json!({"key": name, "value": {"stringValue": value}})
}

/// The body of a request with these log records.
pub fn request(records: &[Value]) -> Value {
    json!({"resourceLogs": [{
        "resource": {"attributes": [attribute("service.name", "toolgate")]},
        "scopeLogs": [{
            "scope": {"name": "toolgate.ledger", "version": env!("CARGO_PKG_VERSION")},
            "logRecords": records,
        }],
    }]})
}
