//! What people set up, and nothing of it on the hook's path: settings files and how they are compiled, the
//! registration with each host, and the doctor that looks at both.

pub mod allow;
pub mod apart;
pub mod approval;
pub mod compile;
pub mod config;
pub mod doctor;
pub mod person;
pub mod register;

use std::path::Path;

use toolgate_gate::approval::{Subject, Verified};
use toolgate_gate::dirs::Dirs;
use toolgate_gate::machine::{Machine, Setup, ThisMachine};
use toolgate_gate::settings::{SettingsError, SettingsSources};
use toolgate_model::ConfigChange;
use toolgate_policies::Settings;

/// What the whole program can do and the hook's small one cannot: read files that people write.
pub struct WholeProgram;

impl Setup for WholeProgram {
    fn compile(
        &self,
        machine: &dyn Machine,
        sources: &SettingsSources<'_>,
    ) -> Result<Vec<Settings>, SettingsError> {
        compile::compile(machine.world(), sources)
    }

    fn config_change(&self, machine: &dyn Machine, state: &Path, host: &str, file: &Path) -> ConfigChange {
        register::config_change(machine.world(), state, host, file)
    }

    fn approval(
        &self,
        machine: &dyn Machine,
        dirs: &Dirs,
        subject: &Subject,
        answer: &[u8],
    ) -> Option<Verified> {
        approval::verified(machine, dirs, subject, answer).ok()
    }
}

/// This machine, as the whole program sees it.
pub fn this_machine() -> ThisMachine {
    ThisMachine::new(Some(&WholeProgram))
}
