//! The gate inside another program: an orchestrator that runs tools itself asks here before it runs one.
//!
//! It fails closed, as the hook does: whatever keeps it from a verdict, a panic included, is a denial in the host's words.
//! Two things are left to the program that embeds it. A file system that hangs holds up the answer, so the program needs a
//! time limit of its own, and has to take its end for a denial. And where panics abort, the whole program ends.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;

use toolgate_model::{Host, Reply};

use crate::counter::SessionCounter;
use crate::failure::{DEADLINE, Failure, MAX_EVENT};
use crate::gather::gather;
use crate::line::{self, Considered, NeedsSetup};
use crate::machine::{Machine, Setup, ThisMachine};
use crate::options::HookOptions;
use crate::withheld;

/// A gate that lives as long as the program around it. Each event is judged by the disk and the settings of that moment.
pub struct Gate {
    host: &'static dyn Host,
    options: HookOptions,
    setup: Option<&'static (dyn Setup + Sync)>,
    launcher: Option<PathBuf>,
}

impl Gate {
    /// A gate for events of this host. It knows the shipped profiles and what `toolgate` has compiled; where it meets
    /// a settings file that is newer than that, it denies. [`Gate::with_setup`] lets it read such files.
    pub fn new(host: &'static dyn Host, options: HookOptions) -> Gate {
        Gate { host, options, setup: None, launcher: None }
    }

    /// The same gate, able to contain commands: `toolgate` is the installed program, which runs them in the sandbox. Without it a command that
    /// should be contained counts as one whose host cannot have it contained (`uncontainable`).
    #[must_use]
    pub fn with_launcher(self, toolgate: PathBuf) -> Gate {
        Gate { launcher: Some(toolgate), ..self }
    }

    /// The same gate, able to read settings files: `Gate::new(…).with_setup(&toolgate_setup::WholeProgram)`.
    #[must_use]
    pub fn with_setup(self, setup: &'static (dyn Setup + Sync)) -> Gate {
        Gate { setup: Some(setup), ..self }
    }

    /// Answers one event in the host's words, and records call and answer. The program acts on [`Reply::answer`], or
    /// reads [`Reply::stdout`] as the host would.
    pub fn answer(&self, event: &[u8]) -> Reply {
        catch_unwind(AssertUnwindSafe(|| self.answer_on(&self.machine(), event))).unwrap_or_else(|_| {
            let named = self.options.event.as_deref();
            let phase = named.map(|event| self.host.phase(event));
            line::last_words(self.host, named, phase, event, &Failure::Panic)
        })
    }

    fn answer_on(&self, machine: &ThisMachine, event: &[u8]) -> Reply {
        let Gate { host, ref options, .. } = *self;
        let started = machine.instant();
        let refuse = |call: Option<&_>, failure: &Failure| {
            line::refuse(machine, host, options, call, failure, started + DEADLINE)
        };
        let (event, is_over) = withheld::shortened(event);
        let event = &*event;
        if is_over {
            let failure = Failure::TooLarge(withheld::LONGEST);
            return line::refuse_unread(machine, host, options, event, &failure, started + DEADLINE);
        }
        line::answer(machine, host, options, event, started).unwrap_or_else(|NeedsSetup| {
            let call = line::decode(machine, host, options, event).ok();
            refuse(call.as_ref(), &Failure::NeedsSetup)
        })
    }

    /// Refuses something that is no event, and records that.
    pub fn refuse(&self, failure: &Failure) -> Reply {
        let machine = self.machine();
        line::refuse(&machine, self.host, &self.options, None, failure, machine.instant() + DEADLINE)
    }

    /// Decides one event and records nothing: for a preview. An event that names a session pins it all the same.
    ///
    /// Not to act on: limits that count calls do not count this one.
    pub fn consider(&self, event: &[u8]) -> Result<Considered, Failure> {
        if event.len() > MAX_EVENT {
            return Err(Failure::TooLarge(MAX_EVENT));
        }
        let (machine, Gate { host, options, .. }) = (self.machine(), self);
        let call = line::decode(&machine, *host, options, event)?;
        line::check_size(&call, event)?;
        let mut counter = SessionCounter::looking(&options.dirs.state, &call);
        let surroundings = gather(&machine, *host, options, &call, &mut counter)?;
        Ok(line::consider(&machine, &call, &surroundings))
    }

    /// What the disk looks like is remembered by it, so each event has its own.
    fn machine(&self) -> ThisMachine {
        ThisMachine::new(self.setup.map(|setup| setup as &dyn Setup))
            .launching_with(self.launcher.clone())
            .for_one_call()
            .noting_in(&self.options.dirs.state)
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use toolgate_hosts::host;
    use toolgate_model::{Answer, ConfigChange};
    use toolgate_policies::Settings;

    use super::*;
    use crate::approval::{Subject, Verified};
    use crate::dirs::Dirs;
    use crate::failure::MAX_CALL;
    use crate::settings::{SettingsError, SettingsSources};

    /// A setup with a bug in it.
    struct Panics;

    impl Setup for Panics {
        fn compile(&self, _: &dyn Machine, _: &SettingsSources<'_>) -> Result<Vec<Settings>, SettingsError> {
            panic!("asked to")
        }
        fn config_change(&self, _: &dyn Machine, _: &Path, _: &str, _: &Path) -> ConfigChange {
            panic!("asked to")
        }
        fn approval(&self, _: &dyn Machine, _: &Dirs, _: &Subject, _: &[u8]) -> Option<Verified> {
            panic!("asked to")
        }
    }

    fn gate(home: &Path) -> Gate {
        let dirs = Dirs { managed: home.join("managed"), ..Dirs::of_home(home) };
        Gate::new(host("generic").unwrap(), HookOptions::new(dirs))
    }

    fn event(home: &Path) -> Vec<u8> {
        let cwd = home.join("project");
        let call = r#""event":"before","session":"s1","tool":"bash","input":{"command":"ls"}"#;
        format!(r#"{{"cwd":"{}",{call}}}"#, cwd.display()).into_bytes()
    }

    #[test]
    fn threads_can_share_a_gate() {
        fn shared(_: impl Send + Sync) {}
        shared(gate(Path::new("/home/u")));
    }

    #[test]
    #[expect(clippy::disallowed_methods, reason = "the test writes a settings file, as a person would")]
    fn a_gate_without_setup_and_a_setup_that_panics_deny() {
        let home = tempfile::tempdir().unwrap();
        let event = event(home.path());
        assert_eq!(gate(home.path()).answer(&event).answer, Answer::Silence);
        std::fs::create_dir_all(home.path().join(".config/toolgate")).unwrap();
        std::fs::write(home.path().join(".config/toolgate/toolgate.toml"), "").unwrap();
        assert_eq!(gate(home.path()).answer(&event).answer, Answer::Deny);
        assert!(matches!(gate(home.path()).consider(&event), Err(Failure::NeedsSetup)));
        let reply = gate(home.path()).with_setup(&Panics).answer(&event);
        assert_eq!(reply.answer, Answer::Deny);
        assert!(reply.stdout.contains("failed internally"), "{}", reply.stdout);
    }

    #[test]
    fn an_event_that_is_too_large_is_denied() {
        let home = tempfile::tempdir().unwrap();
        let event = vec![b' '; MAX_EVENT + 1];
        assert_eq!(gate(home.path()).answer(&event).answer, Answer::Deny);
        assert!(matches!(gate(home.path()).consider(&event), Err(Failure::TooLarge(MAX_EVENT))));
        let mut call = self::event(home.path());
        call.resize(MAX_CALL + 1, b' ');
        assert_eq!(gate(home.path()).answer(&call).answer, Answer::Deny);
        assert!(matches!(gate(home.path()).consider(&call), Err(Failure::TooLarge(MAX_CALL))));
    }
}
