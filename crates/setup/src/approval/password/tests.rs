use std::os::unix::fs::{PermissionsExt, lchown};
use std::time::{Duration, SystemTime};

use toolgate_workspace::SigningKey;

use super::super::{About, enveloped, sign_at_terminal};
use super::*;
use crate::this_machine;

fn statement(by: &str) -> Statement {
    let about = About::Command { what: "Pause the gate?".into() };
    Statement::new(about, by, "shown", SystemTime::now(), Duration::from_mins(15)).unwrap()
}

/// A machine whose helper has this key. `None` without root, whose the files have to be.
fn machine(home: &Path) -> Option<(Dirs, SigningKey)> {
    let dirs = Dirs { managed: home.join("managed"), ..Dirs::of_home(home) };
    fs::create_dir(&dirs.managed).unwrap();
    let key = SigningKey::open(&home.join("var/key.pem")).unwrap();
    let file = File { program: "/usr/bin/toolgate-cli".into(), key: key.public().to_pem() };
    fs::write(dirs.managed.join(FILE), serde_json::to_vec(&file).unwrap()).unwrap();
    rustix::process::geteuid().is_root().then_some((dirs, key))
}

fn signed_by(key: &SigningKey, statement: &Statement) -> Vec<u8> {
    enveloped(statement, "", &key.sign(&statement.text().unwrap())).unwrap()
}

#[test]
fn the_key_of_roots_helper_makes_a_password_and_no_other_key_does() {
    let home = tempfile::tempdir().unwrap();
    let Some((dirs, key)) = machine(home.path()) else { return };
    let this = this_machine();
    let own = statement(&user_name(&this));
    let strength = |of: &Statement, answer: &[u8]| {
        signer_of(&this, &dirs, of, answer).map(|signer| (signer.name, signer.strength))
    };
    let good = signed_by(&key, &own);
    assert_eq!(strength(&own, &good), Some((user_name(&this), Strength::Password)));
    assert_eq!(strength(&own, &sign_at_terminal(&dirs, &own).unwrap()), None, "the key for terminals");
    let other = SigningKey::open(&home.path().join("other/key.pem")).unwrap();
    assert_eq!(strength(&own, &signed_by(&other, &own)), None, "a key that somebody has made");
    assert_eq!(strength(&statement(&own.by), &good), None, "another statement");
    let elses = statement("somebody-else");
    assert_eq!(strength(&elses, &signed_by(&key, &elses)), None, "another user's password");
    let mut edited: serde_json::Value = serde_json::from_slice(&good).unwrap();
    let longer = Statement { expires: own.expires + 60, ..own.clone() };
    edited["payload"] =
        serde_json::from_slice::<serde_json::Value>(&signed_by(&other, &longer)).unwrap()["payload"].clone();
    assert_eq!(strength(&longer, edited.to_string().as_bytes()), None, "changed after it was signed");
}

#[test]
fn who_signs_stands_in_a_file_that_only_root_can_have_written() {
    let home = tempfile::tempdir().unwrap();
    let Some((dirs, _)) = machine(home.path()) else { return };
    let file = dirs.managed.join(FILE);
    assert!(Installed::read(&dirs.managed).is_ok());
    for (path, mode) in [(&file, 0o666), (&dirs.managed, 0o777)] {
        let before = fs::metadata(path).unwrap().permissions();
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
        assert!(Installed::read(&dirs.managed).is_err(), "{}", path.display());
        fs::set_permissions(path, before).unwrap();
    }
    lchown(&file, Some(20_001), None).unwrap();
    assert!(Installed::read(&dirs.managed).is_err(), "a person's own file");
    fs::rename(&file, home.path().join("real")).unwrap();
    std::os::unix::fs::symlink(home.path().join("real"), &file).unwrap();
    assert!(Installed::read(&dirs.managed).is_err(), "a link");
}
