//! Any bytes as a hook event of any host: read or refused, never a panic; and a call that names a tool which
//! is not listed never comes out as a call that does nothing.

#![no_main]

#[path = "support/nowhere.rs"]
mod nowhere;

use std::collections::BTreeMap;

use libfuzzer_sys::fuzz_target;
use toolgate_effects::effects;
use toolgate_hosts::HOSTS;
use toolgate_model::Action;

use nowhere::SCENE;

/// The events of some hosts do not say their own names.
const NAMES: [&str; 6] = [
    "preToolUse",
    "permissionRequest",
    "tool.execute.before",
    "onPreToolUse",
    "onPermissionRequest",
    "before",
];

fuzz_target!(|event: &[u8]| {
    // The first byte chooses which event the registration says that this is.
    let (Some(first), event) = (event.first(), event.get(1..).unwrap_or_default()) else { return };
    let named = NAMES.get(usize::from(*first)).copied();
    for host in HOSTS {
        let reply = match host.decode(named, event) {
            Ok(call) => {
                let found = effects(&call, &BTreeMap::new(), &SCENE);
                if matches!(call.action, Action::Unlisted { .. } | Action::Shell { .. } | Action::Files(_)) {
                    assert!(!found.is_empty(), "{} does nothing: {call:?}", host.id());
                }
                host.refuse(Some(call.phase), "no verdict")
            }
            Err(error) => {
                let reply = host.refuse(None, &error.to_string());
                assert!(!reply.stdout.is_empty() || reply.code == 2, "a refusal says nothing: {reply:?}");
                reply
            }
        };
        // A host reads one line of JSON or none.
        assert!(!reply.stdout.contains('\n'), "{reply:?}");
    }
});
