//! Compiles the shipped profiles, so that a hook process parses none of them.

#![expect(clippy::disallowed_methods, reason = "a build script reads and writes files")]

use std::fmt::Write as _;
use std::path::Path;
use std::{env, fs};

use sha2::{Digest, Sha256};
use toolgate_policies::{PROFILES, stack};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    println!("cargo::rerun-if-changed=build.rs");
    let out = env::var("OUT_DIR")?;
    let mut profiles = Vec::new();
    let mut all = Sha256::new();
    for (name, _) in PROFILES {
        let settings = stack(Some(name), name, &[]).map_err(|error| format!("profile {name}: {error:?}"))?;
        let bytes = postcard::to_allocvec(&settings)?;
        all.update(&bytes);
        fs::write(Path::new(&out).join(name), &bytes)?;
        profiles.push((name, settings));
    }
    let id: String = hex(&all.finalize()).chars().take(16).collect();
    println!("cargo::rustc-env=TOOLGATE_PROFILES={id}");
    let build = format!("{}+{id}", env::var("CARGO_PKG_VERSION")?);
    let mut table = String::from("&[\n");
    for (name, settings) in profiles {
        let has_team = settings.has_team();
        // As for layers that are compiled from files.
        let layers = postcard::to_allocvec(&vec![settings])?;
        let digest = hex(&Sha256::new().chain_update(&build).chain_update(&layers).finalize());
        writeln!(
            table,
            "    Profile {{ name: \"{name}\", has_team: {has_team}, digest: \"sha256:{digest}\", settings: \
             include_bytes!(concat!(env!(\"OUT_DIR\"), \"/{name}\")) }},"
        )?;
    }
    table.push(']');
    fs::write(Path::new(&out).join("profiles.rs"), table)?;
    Ok(())
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |text, byte| format!("{text}{byte:02x}"))
}
