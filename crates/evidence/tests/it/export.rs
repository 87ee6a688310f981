//! What leaves the ledger is what the standards ask for, and no text unless it was asked for.

use std::time::SystemTime;

use serde_json::{Value, json};
use toolgate_evidence::export::{Detail, csv, csv_header, jsonl, ocsf, otlp};
use toolgate_evidence::proof::Cursor;
use toolgate_evidence::{Activity, Draft, Ledger, LedgerError, Record};
use toolgate_model::{Answer, Decision, FindingKind};
use toolgate_secrets::redact;

use crate::support::{all, bytes, draft, filled, soon};

/// In every text that a record can have.
const MARK: &str = "zanzibar";

fn call(event: &str, tool: &str, arg: &str, decision: Decision) -> Draft {
    let mut draft = Draft::new(SystemTime::now(), "claude-code", redact(event))
        .session(redact("a-session"))
        .agent(redact("ripley"))
        .tool(redact(tool))
        .call(redact("toolu_1"))
        .root(redact("/w/zanzibar"))
        .user(redact("dev"))
        .machine(redact("desk"))
        .unproved("program", redact("zanzibar"))
        .contained("full", "none")
        .denied_inside(redact("/zanzibar"))
        .counting(Activity::In(redact("/w/zanzibar")))
        .decision(decision)
        .answer(Answer::Deny);
    if decision != Decision::Allow {
        draft = draft.finding(
            "a-policy",
            FindingKind::Rule,
            decision,
            redact("/zanzibar"),
            redact("not zanzibar"),
        );
    }
    if arg.is_empty() { draft } else { draft.arg(redact(arg), redact("/w/zanzibar")) }
}

fn recorded() -> tempfile::TempDir {
    let temp = tempfile::tempdir().unwrap();
    let ledger = Ledger::at(temp.path());
    for decision in [Decision::Allow, Decision::Contain, Decision::Ask, Decision::Deny] {
        for (event, tool, arg) in [
            ("PreToolUse", "Bash", "command"),
            ("PreToolUse", "Read", "file_path"),
            ("PreToolUse", "Edit", "file_path"),
            ("PreToolUse", "mcp__x__y", ""),
            ("SessionStart", "", ""),
            ("SessionEnd", "", ""),
            ("UserPromptSubmit", "", ""),
        ] {
            ledger.append(call(event, tool, arg, decision), soon()).unwrap();
        }
    }
    temp
}

fn each(dir: &std::path::Path, mut with: impl FnMut(&[u8], Record)) {
    let read = Cursor::default().read(dir, usize::MAX, |line, record| {
        with(line, record);
        Ok::<(), LedgerError>(())
    });
    assert!(read.unwrap() > 0);
}

fn names(list: &Value) -> Vec<String> {
    list.as_array().into_iter().flatten().map(|name| name.as_str().unwrap().to_owned()).collect()
}

fn assert_one_of(value: &Value, allowed: &Value, about: &str) {
    assert!(allowed.as_array().unwrap().contains(value), "{about}: {value}");
}

/// Holds an event to the vendored part of the schema: what must be there, what may be, and the numbers.
fn assert_valid(event: &Value) {
    let schema: Value = serde_json::from_str(include_str!("ocsf-schema.json")).unwrap();
    let class = &schema["classes"][event["class_uid"].to_string()];
    assert!(class.is_object(), "{event}");
    assert_eq!(event["category_uid"], class["category"]);
    assert_one_of(&event["activity_id"], &class["activities"], "activity_id");
    let (uid, activity) = (event["class_uid"].as_u64().unwrap(), event["activity_id"].as_u64().unwrap());
    assert_eq!(event["type_uid"], json!(uid * 100 + activity));
    assert!(activity != 99 || event["activity_name"].is_string());
    assert_eq!(event["metadata"]["version"], schema["version"]);
    let mut known =
        [&schema["base"]["required"], &schema["base"]["optional"], &class["required"], &class["optional"]]
            .map(names)
            .concat();
    let profiles = names(&event["metadata"]["profiles"]);
    for profile in &profiles {
        assert!(names(&class["profiles"]).contains(profile));
        known.extend(names(&schema["profiles"][profile]["attributes"]));
        for (name, allowed) in schema["profiles"][profile]["enums"].as_object().unwrap() {
            assert_one_of(&event[name], allowed, name);
        }
    }
    for name in [&schema["base"]["required"], &class["required"]].map(names).concat() {
        assert!(event.get(&name).is_some(), "{name} is missing in {event}");
    }
    assert_one_of(&event["severity_id"], &schema["base"]["enums"]["severity_id"], "severity_id");
    for (name, value) in event.as_object().unwrap() {
        assert!(known.contains(name), "{name} is not in this class");
        assert_typed(&schema, name, value);
    }
}

/// Holds one attribute, and all that is in it, to its type. An attribute without one in the vendored part is a fault of that part.
fn assert_typed(schema: &Value, name: &str, value: &Value) {
    let types = schema["types"].as_object().unwrap();
    let kind = types.iter().find(|(_, names)| names.as_array().unwrap().contains(&json!(name)));
    let (kind, _) = kind.unwrap_or_else(|| panic!("{name} has no type in the schema"));
    let fits = match kind.as_str() {
        "integer" => value.is_u64(),
        "boolean" => value.is_boolean(),
        "string" => value.is_string(),
        "strings" => value.as_array().is_some_and(|all| all.iter().all(Value::is_string)),
        _ => value.is_object(),
    };
    assert!(fits, "{name} is no {kind}: {value}");
    let Some(members) = value.as_object() else { return };
    let object = schema["objects"].get(name).unwrap_or_else(|| panic!("{name} is not in the schema"));
    let has = |name: &String| members.contains_key(name);
    assert!(names(&object["required"]).iter().all(has), "{name}: {value}");
    let one_of = names(&object["at_least_one"]);
    assert!(one_of.is_empty() || one_of.iter().any(has), "{name}: {value}");
    if object["any"] == "string" {
        assert!(members.values().all(Value::is_string), "{name}: {value}");
        return;
    }
    let known = [&object["required"], &object["optional"]].map(names).concat();
    for (member, inner) in members {
        assert!(known.contains(member), "{member} is not in {name}: {value}");
        assert_typed(schema, member, inner);
    }
    for (member, allowed) in object["enums"].as_object().into_iter().flatten() {
        assert_one_of(&value[member], allowed, member);
    }
}

#[test]
fn what_is_of_the_wrong_type_or_not_in_the_schema_is_found() {
    let temp = recorded();
    let mut event = Value::Null;
    each(temp.path(), |line, record| {
        if record.tool == "Bash" {
            event = ocsf("toolgate/x", line, &record, Detail::WithText);
        }
    });
    assert_valid(&event);
    for (place, wrong) in [
        ("/time", json!("now")),
        ("/is_alert", json!(1)),
        ("/message", json!({"text": "x"})),
        ("/metadata/product/name", json!(7)),
        ("/metadata/profiles", json!([7])),
        ("/metadata/product", json!({"name": "x", "colour": "red"})),
        ("/metadata/product", json!({})),
        ("/device/type_id", json!(42)),
        ("/actor", json!({"user": {"password": "x"}})),
        ("/raw_data_hash/value", Value::Null),
    ] {
        let mut changed = event.clone();
        *changed.pointer_mut(place).unwrap_or_else(|| panic!("{place} is not there")) = wrong;
        let found = std::panic::catch_unwind(|| assert_valid(&changed)).is_err();
        assert!(found, "{place}: {changed}");
    }
}

#[test]
fn events_for_ocsf_are_valid_with_texts_and_without() {
    let temp = recorded();
    let mut classes = std::collections::BTreeSet::new();
    each(temp.path(), |line, record| {
        for detail in [Detail::Verdicts, Detail::WithText] {
            let event = ocsf("toolgate/x", line, &record, detail);
            assert_valid(&event);
            classes.insert(event["class_uid"].as_u64().unwrap());
            assert_eq!(
                event["raw_data"].as_str().map(str::as_bytes),
                (detail == Detail::WithText).then_some(line)
            );
            let is_denied = record.decision.as_str() == "deny";
            assert_eq!(event["action_id"] == json!(2), is_denied && event["class_uid"] != json!(6002));
        }
    });
    assert_eq!(classes.into_iter().collect::<Vec<_>>(), [1001, 1007, 6002, 6003]);
}

#[test]
fn no_text_leaves_unless_it_was_asked_for() {
    let temp = recorded();
    each(temp.path(), |line, record| {
        for detail in [Detail::Verdicts, Detail::WithText] {
            let forms = [
                jsonl(line, &record, detail).into_owned(),
                csv(&record, detail),
                ocsf("o", line, &record, detail).to_string(),
                otlp::log_record("o", line, &record, detail).to_string(),
            ];
            for form in forms {
                assert_eq!(form.contains(MARK), detail == Detail::WithText, "{form}");
                assert!(form.contains(record.decision.as_str()), "{form}");
            }
        }
        assert_eq!(jsonl(line, &record, Detail::WithText).as_bytes(), line, "as it is recorded");
        for detail in [Detail::Verdicts, Detail::WithText] {
            // No cell of these records has a comma in it.
            assert_eq!(csv(&record, detail).split(',').count(), csv_header(detail).split(',').count());
        }
    });
}

#[test]
fn log_records_have_the_form_that_otlp_asks_for() {
    let temp = recorded();
    let mut batch = Vec::new();
    each(temp.path(), |line, record| {
        batch.push(otlp::log_record("toolgate/x", line, &record, Detail::Verdicts));
    });
    let body = otlp::request(&batch);
    let records = body["resourceLogs"][0]["scopeLogs"][0]["logRecords"].as_array().unwrap();
    assert_eq!(records.len(), 28);
    for record in records {
        assert!(record["timeUnixNano"].as_str().unwrap().parse::<u64>().unwrap() > 1_700_000_000_000_000_000);
        assert!([9, 13, 17].contains(&record["severityNumber"].as_u64().unwrap()));
        let attributes = record["attributes"].as_array().unwrap();
        let text = |name: &str| {
            let found = attributes.iter().find(|one| one["key"] == name);
            found.and_then(|one| one["value"]["stringValue"].as_str().map(str::to_owned))
        };
        assert_eq!(text("gen_ai.conversation.id").unwrap(), "a-session");
        assert!(text("toolgate.decision").is_some() && text("toolgate.log.sha256").unwrap().len() == 64);
        assert_eq!(text("gen_ai.operation.name").is_some(), text("gen_ai.tool.name").is_some());
    }
}

#[test]
fn a_cursor_reads_each_record_once_over_full_files_and_half_lines() {
    let temp = tempfile::tempdir().unwrap();
    let dir = temp.path();
    let ledger = Ledger::at(dir).full_at(5_000);
    let mut cursor = Cursor::default();
    let mut seen = Vec::new();
    for round in 0..60 {
        ledger.append(draft("a"), soon()).unwrap();
        if round % 9 == 0 {
            std::fs::OpenOptions::new()
                .append(true)
                .open(dir.join("ledger.jsonl"))
                .and_then(|mut file| std::io::Write::write_all(&mut file, b"{\"seq\":"))
                .unwrap();
        }
        let text = serde_json::to_string(&cursor).unwrap();
        cursor = serde_json::from_str(&text).unwrap();
        cursor
            .read(dir, 2, |_, record| {
                seen.push(record.seq);
                Ok::<(), LedgerError>(())
            })
            .unwrap();
    }
    cursor
        .read(dir, usize::MAX, |_, record| {
            seen.push(record.seq);
            Ok::<(), LedgerError>(())
        })
        .unwrap();
    let records = all(dir).len() as u64;
    assert_eq!(seen, (1..=records).collect::<Vec<_>>());
    // What fails was not read.
    ledger.append(draft("b"), soon()).unwrap();
    let failing = |_: &[u8], _: Record| Err(LedgerError::Busy { path: dir.to_path_buf() });
    assert!(cursor.read(dir, 9, failing).is_err());
    assert_eq!(cursor.seq, records);
    assert!(!bytes(dir).is_empty());
    filled(dir, 1);
}
