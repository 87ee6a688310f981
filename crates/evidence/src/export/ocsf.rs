//! Records as events of the Open Cybersecurity Schema Framework, version 1.8.
//!
//! A shell command is Process Activity, a file tool File System Activity, a session that begins or ends Application Lifecycle, and every
//! other call API Activity. The verdict is the profile `security_control`. The line's SHA-256 is in each event, and with the texts the
//! line itself, so that the ledger's chain can be checked where the events are kept.

use serde_json::{Map, Value, json};
use toolgate_model::Decision;

use super::{Detail, milliseconds};
use crate::{Digest, Record};

/// The version of the schema.
const VERSION: &str = "1.8.0";
/// What stands for a name that does not leave.
const LEFT_OUT: &str = "(left out)";
/// Arguments that name the file of a tool.
const FILES: [&str; 5] = ["file_path", "path", "notebook_path", "target_file", "filePath"];

/// What a record is about.
enum Class<'r> {
    Process(&'r str),
    File(&'r str),
    Api,
    Lifecycle,
}

impl Class<'_> {
    fn of(record: &Record) -> Class<'_> {
        let arg = |wanted: &str| {
            record.args.iter().find(|(name, _)| name == wanted).map(|(_, value)| value.as_str())
        };
        if record.tool.is_empty() {
            let event = record.event.to_lowercase();
            return if event.contains("session") || event == "stop" { Class::Lifecycle } else { Class::Api };
        }
        match (arg("command"), FILES.iter().find_map(|name| arg(name))) {
            (Some(command), _) => Class::Process(command),
            (None, Some(file)) => Class::File(file),
            (None, None) => Class::Api,
        }
    }

    /// Category, class, and what was done.
    fn numbers(&self, record: &Record) -> (u64, u64, u64) {
        let tool = record.tool.to_lowercase();
        let does = |words: &[&str]| words.iter().any(|word| tool.contains(word));
        match self {
            Class::Process(_) => (1, 1007, 1),
            Class::File(_) if does(&["write", "edit", "patch", "replace"]) => (1, 1001, 3),
            Class::File(_) if does(&["read", "view", "glob", "grep", "search", "list"]) => (1, 1001, 2),
            Class::File(_) => (1, 1001, 99),
            Class::Api => (6, 6003, 99),
            Class::Lifecycle if record.event.to_lowercase().contains("start") => (6, 6002, 3),
            Class::Lifecycle => (6, 6002, 4),
        }
    }
}

/// A record as an event.
pub fn ocsf(origin: &str, line: &[u8], record: &Record, detail: Detail) -> Value {
    let class = Class::of(record);
    let (category, number, activity) = class.numbers(record);
    let with_text = detail == Detail::WithText;
    let mut event = Map::new();
    let mut put = |name: &str, value: Value| event.insert(name.to_owned(), value);
    put("category_uid", json!(category));
    put("class_uid", json!(number));
    put("activity_id", json!(activity));
    put("type_uid", json!(number * 100 + activity));
    if activity == 99 {
        put("activity_name", json!(if record.tool.is_empty() { &record.event } else { "Invoke" }));
    }
    put("time", json!(milliseconds(record)));
    let (severity, action, disposition) = match record.decision.known() {
        // Observed, and logged.
        Some(Decision::Allow | Decision::Contain) if record.would.is_some() => (2, 3, 17),
        Some(Decision::Allow | Decision::Contain) => (1, 1, if record.redacted > 0 { 11 } else { 1 }),
        Some(Decision::Ask) => (2, 0, 23),
        Some(Decision::Deny) => (3, 2, 2),
        None => (0, 0, 0),
    };
    put("severity_id", json!(severity));
    let has_verdict = !matches!(class, Class::Lifecycle);
    let profiles: &[&str] = if has_verdict { &["security_control"] } else { &[] };
    let metadata = json!({
        "version": VERSION,
        "product": {"name": "toolgate", "vendor_name": "toolgate", "version": record.toolgate},
        "uid": format!("{origin}/{}", record.seq),
        "sequence": record.seq,
        "log_name": "ledger",
        "event_code": record.event,
        "correlation_uid": record.call,
        "profiles": profiles,
    });
    if has_verdict {
        put("action_id", json!(action));
        put("disposition_id", json!(disposition));
        put("is_alert", json!(record.is_denied()));
        if let Some(finding) = record.findings.first() {
            let rule = if finding.rule.is_empty() { &finding.policy } else { &finding.rule };
            put("policy", json!({"uid": rule, "name": finding.policy}));
            if with_text {
                put("message", json!(finding.message));
            }
        }
    }
    put("metadata", metadata);
    put("actor", actor(record));
    let device = json!({"type_id": 0, "hostname": record.machine});
    match class {
        Class::Process(command) => {
            let process = if with_text {
                json!({"name": record.tool, "cmd_line": command, "working_directory": record.root})
            } else {
                json!({"name": record.tool})
            };
            put("process", process);
            put("device", device);
        }
        Class::File(path) => {
            let name = path.rsplit('/').next().filter(|name| !name.is_empty()).unwrap_or(path);
            let file = if with_text {
                json!({"name": name, "path": path, "type_id": 0})
            } else {
                json!({"name": LEFT_OUT, "type_id": 0})
            };
            put("file", file);
            put("device", device);
        }
        Class::Api => {
            let operation = if record.tool.is_empty() { &record.event } else { &record.tool };
            put("api", json!({"operation": operation, "service": {"name": record.host}}));
            put("src_endpoint", json!({"hostname": record.machine}));
        }
        Class::Lifecycle => {
            put("app", json!({"name": record.host, "vendor_name": record.host}));
            put("device", device);
        }
    }
    put("raw_data_hash", json!({"algorithm_id": 3, "value": Digest::of(line).hex()}));
    put("raw_data_size", json!(line.len()));
    if with_text {
        put("raw_data", json!(String::from_utf8_lossy(line)));
    }
    let named = [
        ("agent", record.agent.as_str()),
        ("decision", record.decision.as_str()),
        ("input", &record.input),
        ("rules", &record.rules),
        ("contained", record.contained.as_ref().map_or("", |contained| &contained.level)),
    ];
    let named = named.iter().filter(|(_, value)| !value.is_empty());
    put(
        "unmapped",
        named.map(|(name, value)| ((*name).to_owned(), json!(value))).collect::<Map<_, _>>().into(),
    );
    Value::Object(event)
}

fn actor(record: &Record) -> Value {
    let mut actor = Map::new();
    actor.insert("app_name".to_owned(), json!(record.host));
    if !record.user.is_empty() {
        actor.insert("user".to_owned(), json!({"name": record.user}));
    }
    if !record.session.is_empty() {
        actor.insert("session".to_owned(), json!({"uid": record.session}));
    }
    actor.into()
}
