//! Any text as a settings file: read or refused, never a panic; what is refused says where within the text;
//! what is read can be laid on every profile.

#![no_main]

use libfuzzer_sys::fuzz_target;
use toolgate_policies::{PROFILES, read, stack};

fuzz_target!(|text: &str| {
    match read(text) {
        Ok(layer) => {
            for (name, _) in PROFILES {
                if let Err(error) = stack(Some(name), name, &[&layer]) {
                    panic!("read alone, but not on {name}: {error:?}");
                }
            }
        }
        Err(error) => {
            assert!(!error.what.is_empty());
            assert!(error.at.is_none_or(|at| text.get(..at).is_some()), "{error:?}");
        }
    }
});
