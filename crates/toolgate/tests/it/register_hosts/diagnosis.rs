//! What doctor says about each host.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};
use toolgate_setup::register::REGISTRARS;

use super::machine::{HOSTS, Machine, script};

fn registered(host: &str) -> Machine {
    let machine = Machine::new();
    machine.must(&["init", "--yes", "--host", host]);
    machine
}

/// The diagnosis of one host: whether it is active, and its checks as `(id, status, text)`.
fn diagnose(machine: &Machine, host: &str) -> (bool, Vec<(String, String, String)>) {
    let output = machine.toolgate(&["doctor", "--json", "--host", host]);
    let said: Value = serde_json::from_slice(&output.stdout).unwrap();
    let diagnosis = &said["hosts"][0];
    assert_eq!(diagnosis["host"], host);
    assert_eq!(said["active"], diagnosis["active"]);
    let active = diagnosis["active"].as_bool().unwrap();
    assert_eq!(output.status.code(), Some(i32::from(!active)));
    let text = |check: &Value, key: &str| check[key].as_str().unwrap().to_owned();
    let checks = diagnosis["checks"].as_array().unwrap().iter();
    for check in checks.clone().filter(|check| check["status"] == "warn" || check["status"] == "fail") {
        assert!(check["help"].is_string(), "{host}: what is to be done? {check}");
    }
    (active, checks.map(|check| (text(check, "id"), text(check, "status"), text(check, "text"))).collect())
}

fn assert_check(machine: &Machine, host: &str, active: bool, id: &str, status: &str, part: &str) {
    let (found, checks) = diagnose(machine, host);
    assert_eq!(found, active, "{host}: {checks:#?}");
    let mut checks_of_id = checks.iter().filter(|(other, ..)| other == id);
    assert!(
        checks_of_id.any(|(_, other, text)| other == status && text.contains(part)),
        "{host}: no `{id}` ({status}) that says `{part}`: {checks:#?}"
    );
}

#[test]
fn a_registered_host_is_active_in_every_scope() {
    for (host, _, scopes) in HOSTS {
        for scope in std::iter::once(&"user").chain(*scopes) {
            let machine = Machine::new();
            machine.must(&["init", "--yes", "--host", host, "--scope", scope]);
            let (active, checks) = diagnose(&machine, host);
            assert!(active, "{host}, {scope}: {checks:#?}");
            for id in ["registered", "binary", "state", "canary-deny", "canary-allow"] {
                let ok = checks.iter().any(|(other, status, _)| other == id && status == "ok");
                assert!(ok, "{host}, {scope}, {id}: {checks:#?}");
            }
            let mut others = checks.iter().filter(|(id, _, _)| id != "transcripts");
            let worst = others.any(|(_, status, _)| status == "warn" || status == "fail");
            assert!(!worst, "{host}, {scope}: {checks:#?}");
        }
    }
}

#[test]
fn every_host_is_examined_by_its_own_doctor() {
    let ids: Vec<_> = REGISTRARS.iter().map(|host| host.id()).collect();
    assert_eq!(ids, HOSTS.iter().map(|(host, ..)| *host).collect::<Vec<_>>());
    for host in REGISTRARS {
        // Another host's doctor would look at that host's files, and name it.
        let part = format!(" {}", host.name());
        assert_check(&Machine::new(), host.id(), false, "registered", "fail", &part);
    }
}

#[test]
fn doctor_examines_every_installed_host() {
    let machine = Machine::new();
    assert!(machine.must_not(&["doctor"]).contains("no host is installed"));
    machine.must(&["init", "--yes", "--host", "codex", "--host", "pi"]);
    let output = machine.toolgate(&["doctor", "--json"]);
    let diagnoses: Value = serde_json::from_slice(&output.stdout).unwrap();
    let hosts: Vec<_> =
        diagnoses["hosts"].as_array().unwrap().iter().map(|one| one["host"].clone()).collect();
    assert_eq!(hosts, ["codex", "pi"]);
    assert!(output.status.success());
    // One that is installed and not registered is not active.
    fs::create_dir_all(machine.path("home/.qwen")).unwrap();
    let said = machine.must_not(&["doctor"]);
    assert_eq!(said.matches("\nactive: ").count(), 2, "{said}");
    assert!(said.contains("inactive: toolgate is in no settings file of Qwen Code"), "{said}");
}

#[test]
fn doctor_finds_settings_that_switch_hooks_off() {
    let features = "[features]\nhooks = false\n";
    let off = "{ \"disableAllHooks\": true }";
    #[rustfmt::skip]
    let cases = [
        ("claude-code", "project/.claude/settings.json",            off,      "disable-all-hooks", "`disableAllHooks`"),
        ("copilot", "project/.github/copilot/settings.json",        off,      "disable-all-hooks", "copilot/settings.json`"),
        ("copilot", "project/.github/copilot/settings.local.json",  off,      "disable-all-hooks", "copilot/settings.local.json`"),
        ("copilot", "project/.claude/settings.json",                off,      "disable-all-hooks", ".claude/settings.json`"),
        ("copilot", "etc/github-copilot/managed-settings.json",     "{ \"allowManagedHooksOnly\": true }", "managed-only", "`allowManagedHooksOnly`"),
        ("codex",   "project/.codex/config.toml",                   features, "hooks-off", "`hooks = false`"),
        ("codex",   "etc/codex/requirements.toml",                  "allow_managed_hooks_only = true\n", "managed-only", "`allow_managed_hooks_only`"),
        ("codex",   "home/.codex/config.toml",                      "",       "trust", "not trusted"),
        ("gemini",  "project/.gemini/settings.json",                "{ \"hooksConfig\": { \"enabled\": false } }", "hooks-off", "`hooksConfig.enabled` is false"),
        ("qwen",    "project/.qwen/settings.json",                  off,      "disable-all-hooks", "`disableAllHooks`"),
        ("pi",      "home/.pi/agent/settings.json",                 "{ \"extensions\": [\"!**/toolgate/**\"] }", "excluded", "`extensions`"),
    ];
    for (host, file, text, id, part) in cases {
        let machine = registered(host);
        machine.write(file, text);
        assert_check(&machine, host, false, id, "fail", part);
    }
    let machine = registered("gemini");
    let settings = machine.json("home/.gemini/settings.json");
    let name = &settings["hooks"]["BeforeTool"][0]["hooks"][0]["name"];
    machine.write(
        "project/.gemini/settings.json",
        &json!({ "hooksConfig": { "disabled": [name] } }).to_string(),
    );
    assert_check(&machine, "gemini", false, "disabled", "fail", "names our hook");
    let machine = registered("codex");
    let config = machine.read("home/.codex/config.toml");
    machine.write(
        "home/.codex/config.toml",
        &config.replacen("trusted_hash", "enabled = false\ntrusted_hash", 1),
    );
    assert_check(&machine, "codex", false, "trust", "fail", "is disabled");
    machine.write("home/.codex/config.toml", &config.replacen("sha256:", "sha256:0", 1));
    assert_check(&machine, "codex", false, "trust", "fail", "has changed");
    machine.write("home/.codex/config.toml", &format!("{config}\n{features}"));
    assert_check(&machine, "codex", false, "hooks-off", "fail", "hooks = false");
}

#[test]
fn managed_hooks_stay_active_whatever_a_repository_says() {
    #[rustfmt::skip]
    let cases = [
        ("copilot", "project/.github/copilot/settings.json", "{ \"disableAllHooks\": true }"),
        ("codex",   "project/.codex/config.toml",            "[features]\nhooks = false\n"),
        ("gemini",  "project/.gemini/settings.json",         "{ \"hooksConfig\": { \"enabled\": false } }"),
    ];
    for (host, file, text) in cases {
        let machine = Machine::new();
        machine.must(&["init", "--yes", "--managed", "--host", host]);
        machine.write(file, text);
        let (active, checks) = diagnose(&machine, host);
        assert!(active, "{host}: {checks:#?}");
    }
}

#[test]
fn a_broken_gate_is_diagnosed_as_inactive() {
    for (host, _, _) in HOSTS {
        let machine = registered(host);
        let doctor = Machine::new();
        let kept = doctor.path("bin/toolgate");
        // Broken, and then gone; a doctor from elsewhere looks at it.
        for body in ["exit 0", "exit 1", "kill -KILL $$", "echo hello"] {
            script(machine.binary(), body);
            let output = std::process::Command::new(&kept)
                .args(["doctor", "--json", "--host", host, "--etc"])
                .arg(machine.path("etc"))
                .current_dir(machine.path("project"))
                .env_clear()
                .env("HOME", machine.path("home"))
                .output()
                .unwrap();
            let said: Value = serde_json::from_slice(&output.stdout).unwrap();
            let diagnosis = &said["hosts"][0];
            assert_eq!(diagnosis["active"], false, "{host}, {body}: {diagnosis:#}");
            let checks = diagnosis["checks"].as_array().unwrap();
            let failed = checks.iter().find(|check| check["id"] == "canary-deny").unwrap();
            assert!(failed["help"].is_string(), "{host}, {body}: {failed}");
            assert_eq!(failed["status"], "fail", "{host}, {body}: {diagnosis:#}");
        }
    }
}

#[test]
fn doctor_reports_a_changed_registration() {
    let change = |machine: &Machine, file: &str, from: &str, to: &str| {
        let text = machine.read(file);
        assert!(text.contains(from), "{file}: {text}");
        machine.write(file, &text.replacen(from, to, 1));
    };
    // Host, file, what is changed, and what is said of it.
    #[rustfmt::skip]
    let cases = [
        ("copilot", "home/.copilot/hooks/toolgate.json", "\"timeoutSec\": 3600", "\"timeoutSec\": 5", true, "form", "warn", "`timeoutSec`"),
        ("copilot", "home/.copilot/hooks/toolgate.json", "\"timeoutSec\": 3600", "\"timeoutSec\": 3600, \"env\": {}", false, "limits", "fail", "`env`"),
        ("copilot", "home/.copilot/hooks/toolgate.json", "\"preToolUse\"", "\"preTool\"", false, "events", "fail", "preToolUse"),
        ("copilot", "home/.copilot/hooks/toolgate.json", "{", "// mine\n{", false, "readable", "fail", "plain JSON"),
        ("copilot", "home/.copilot/hooks/toolgate.json", "\"type\": \"command\",", "\"type\": \"command\", \"matcher\": \"bash\",", false, "limits", "fail", "`bash`"),
        ("gemini",  "home/.gemini/settings.json", "\"*\"", "\"write_file\"", false, "limits", "fail", "`write_file`"),
        ("gemini",  "home/.gemini/settings.json", "82) exit 2 ;;", "82) exit 0 ;;", false, "limits", "fail", "does more"),
        ("qwen",    "home/.qwen/settings.json", "3600000", "1", true, "form", "warn", "`timeout`"),
        ("cursor",  "home/.cursor/hooks.json", "\"failClosed\": true", "\"failClosed\": false", true, "form", "warn", "`failClosed`"),
        ("cursor",  "home/.cursor/hooks.json", "\"sessionEnd\"", "\"stop\"", true, "events", "warn", "sessionEnd"),
        ("pi",      "home/.pi/agent/extensions/toolgate/adapter.ts", "block", "blocc", false, "written", "fail", "adapter.ts"),
        ("opencode", "home/.config/opencode/plugin/toolgate.ts", "toolgate(", "other(", false, "registered", "warn", "not the script"),
    ];
    for (host, file, from, to, active, id, status, part) in cases {
        let machine = registered(host);
        change(&machine, file, from, to);
        assert_check(&machine, host, active, id, status, part);
    }
    for (host, file) in [
        ("codex", "home/.codex/hooks.json"),
        ("opencode", "home/.config/opencode/plugin/toolgate.ts"),
        ("opencode", "home/.config/opencode/toolgate/gate.ts"),
        ("pi", "home/.pi/agent/extensions/toolgate/gate.ts"),
    ] {
        let machine = registered(host);
        fs::remove_file(machine.path(file)).unwrap();
        assert_check(&machine, host, false, "gone", "warn", file);
    }
}

#[test]
fn plugins_of_a_project_are_warned_about() {
    let machine = registered("opencode");
    machine.write("project/.opencode/plugin/theirs.ts", "export const X = 1;\n");
    assert_check(&machine, "opencode", true, "project-plugins", "warn", "theirs.ts");
}

#[test]
fn doctor_does_not_run_a_hook_that_came_with_the_repository() {
    let ours = Machine::new();
    ours.must(&["init", "--yes", "--host", "qwen", "--scope", "project"]);
    let machine = Machine::new();
    let settings = ours.read("project/.qwen/settings.json");
    let planted = machine.path("project/toolgate");
    script(&planted, "touch ran");
    machine.write(
        "project/.qwen/settings.json",
        &settings.replace(&ours.text_of("bin/toolgate"), planted.to_str().unwrap()),
    );
    assert_check(&machine, "qwen", false, "canary-deny", "fail", "not run");
    assert!(!machine.path("project/ran").exists());
}

#[test]
fn doctor_reports_settings_that_cannot_be_read() {
    for (host, dir, _) in HOSTS {
        let machine = registered(host);
        let file = Path::new(&format!("home/{dir}")).join(match *host {
            "claude-code" | "gemini" | "qwen" => "settings.json",
            "copilot" => "hooks/toolgate.json",
            "opencode" => "plugin/toolgate.ts",
            "pi" => "extensions/toolgate/index.ts",
            _ => "hooks.json",
        });
        let file = machine.path(file.to_str().unwrap());
        fs::remove_file(&file).unwrap();
        fs::create_dir(&file).unwrap();
        assert_check(&machine, host, false, "settings", "warn", "cannot be read");
    }
}
