//! What the commands have in common that only people run: where they are about, who runs them, and that somebody is there.

use std::fs;
use std::io::{self, BufRead, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant, SystemTime};

use clap::Args;
use toolgate_evidence::{Draft, Ledger, due};
use toolgate_model::{Call, Phase, Places, Require, Strength};
use toolgate_policies::{POLICIES, Settings};
use toolgate_secrets::redact;

use super::{Out, layers_of};
use toolgate_gate::dirs::{Dirs, user_name};
use toolgate_gate::disk::read_regular;
use toolgate_gate::failure::DEADLINE;
use toolgate_gate::sealing::start_if_due;
use toolgate_gate::settings::SettingsSources;
use toolgate_gate::store::write_private;
use toolgate_gate::{options::SessionOptions, session};
use toolgate_setup::allow::Opening;
use toolgate_setup::approval::password::signed_with_password;
use toolgate_setup::approval::{
    About, Approvers, NAMESPACE, Signer, Statement, dearmoured, key_of_file, sign_at_terminal, signer,
    with_signature,
};
use toolgate_setup::person::{at_terminal, not_an_agent};
use toolgate_setup::this_machine;

/// Where a command is about.
#[derive(Debug, Clone, Default, Args)]
pub(super) struct PlaceArgs {
    /// The worktree [default: the one of the working directory]
    #[arg(long, value_name = "DIR")]
    pub(super) root: Option<PathBuf>,
    #[command(flatten)]
    pub(super) home: HomeArgs,
}

/// Whose settings and record.
#[derive(Debug, Clone, Default, Args)]
pub(super) struct HomeArgs {
    /// The home directory
    #[arg(long, value_name = "DIR", hide_short_help = true)]
    home: Option<PathBuf>,
    /// The directory of the log and of toolgate's other state
    #[arg(long, value_name = "DIR", hide_short_help = true)]
    state: Option<PathBuf>,
}

impl HomeArgs {
    pub(super) fn dirs(&self) -> Result<Dirs, String> {
        let mut dirs = match &self.home {
            Some(home) => Dirs::of_home(home),
            None => Dirs::from_env(|name| std::env::var_os(name)).ok_or("HOME is not set")?,
        };
        dirs.state = self.state.clone().unwrap_or(dirs.state);
        Ok(dirs)
    }
}

impl PlaceArgs {
    /// This worktree, with everything else as usual.
    pub(super) fn at(root: &Path) -> PlaceArgs {
        PlaceArgs { root: Some(root.to_path_buf()), ..PlaceArgs::default() }
    }

    pub(super) fn dirs(&self) -> Result<Dirs, String> {
        self.home.dirs()
    }

    /// The places that a session in this worktree would know.
    pub(super) fn places(&self, dirs: &Dirs) -> Result<Places, String> {
        let root =
            self.root.as_ref().map(std::path::absolute).transpose().map_err(|error| error.to_string())?;
        let here = std::env::current_dir().map_err(|error| error.to_string())?;
        let cwd = root.unwrap_or(here);
        let call = Call {
            cwd: cwd.to_str().map(Into::into),
            ..Call::event("toolgate", "command".into(), Phase::Other)
        };
        session::session(&this_machine(), dirs, &SessionOptions::default(), &call, None)
            .map(|session| session.places)
            .map_err(|error| error.to_string())
    }
}

/// Who runs the command, as the system knows it.
pub(super) fn person() -> String {
    let name = ["SUDO_USER", "USER", "LOGNAME"].iter().find_map(|name| std::env::var(name).ok());
    name.filter(|name| !name.is_empty())
        .unwrap_or_else(|| format!("uid {}", rustix::process::getuid().as_raw()))
}

/// What a person is asked to agree to.
pub(super) struct Asked<'a> {
    /// Whose settings and state.
    pub(super) dirs: &'a Dirs,
    /// The directory that it is about, in which agents write.
    pub(super) root: Option<&'a Path>,
    /// What it takes.
    pub(super) require: Require,
    /// The question.
    pub(super) question: &'a str,
}

/// What a person has agreed to.
pub(super) struct Agreed {
    /// Who, and how well that is known.
    pub(super) signer: Signer,
    /// The statement with its signature.
    pub(super) answer: Vec<u8>,
}

/// A statement that somebody has signed, as the record names it.
pub(super) struct Agreement {
    /// Who, and how well that is known.
    pub(super) signer: Signer,
    /// What tells the statement from all others.
    nonce: String,
    /// The digest of the statement, and of what was shown.
    statement: String,
    shown: String,
    /// What was asked.
    question: String,
    /// The statement with its signature.
    answer: Vec<u8>,
}

impl Agreement {
    pub(super) fn of(statement: &Statement, agreed: Agreed, question: &str) -> Result<Agreement, String> {
        let Agreed { signer, answer } = agreed;
        Ok(Agreement {
            signer,
            nonce: statement.nonce.clone(),
            statement: statement.digest().map_err(|error| error.to_string())?,
            shown: statement.shown.clone(),
            question: question.to_owned(),
            answer,
        })
    }

    /// What a record says of it.
    pub(super) fn recorded(&self) -> [(&'static str, &str); 6] {
        [
            ("approved-by", &self.signer.name),
            ("how", self.signer.strength.word()),
            ("nonce", &self.nonce),
            ("statement", &self.statement),
            ("shown", &self.shown),
            ("question", &self.question),
        ]
    }

    /// Keeps the statement with its signature, under its nonce: the record has no more than the digest of it.
    pub(super) fn keep(&self, dirs: &Dirs) -> Result<(), String> {
        let file = dirs.state.join("approvals/agreed").join(&self.nonce);
        write_private(&file, &self.answer).map_err(|error| format!("{}: {error}", file.display()))
    }
}

/// Has a person agree to something that loosens, by what the settings of that place require. `shown`: what they see of it before the
/// question; they sign for both.
pub(super) fn confirmed(
    out: &mut Out,
    dirs: &Dirs,
    root: Option<&Path>,
    loosened: &Loosened<'_>,
    shown: &str,
    question: &str,
) -> Result<Agreement, String> {
    let require = required_at(dirs, root, loosened)?;
    let about = About::Command { what: question.to_owned() };
    let shown = if shown.is_empty() { question.to_owned() } else { format!("{shown}\n{question}") };
    let statement = Statement::new(about, &user(), &shown, SystemTime::now(), SHORT)
        .map_err(|error| error.to_string())?;
    let agreed = agreed(out, &Asked { dirs, root, require, question }, &statement)?;
    Agreement::of(&statement, agreed, question)
}

/// How long a statement holds that is used at once.
const SHORT: Duration = Duration::from_mins(15);

/// What would pass afterwards, besides single calls: `[approval.rules]` asks for more by what that is.
pub(super) enum Loosened<'a> {
    /// Nothing that a rule or a policy stops.
    NoRule,
    /// Places, which any policy may close, and rules.
    Openings(&'a [&'a Opening]),
    /// Everything.
    Everything,
}

impl Loosened<'_> {
    fn concerns(&self, id: &str) -> bool {
        let is_policy = || POLICIES.iter().any(|policy| policy.id == id);
        let names = |opening: &&Opening| matches!(opening, Opening::Rules { ids, .. } if ids.iter().any(|own| own == id));
        match self {
            Loosened::NoRule => false,
            Loosened::Openings(openings) => is_policy() || openings.iter().any(names),
            Loosened::Everything => true,
        }
    }
}

/// What the settings of a place require of a person who loosens this.
///
/// INVARIANT: to open more is never had for less than to approve one call.
pub(super) fn required_at(
    dirs: &Dirs,
    root: Option<&Path>,
    loosened: &Loosened<'_>,
) -> Result<Require, String> {
    let place = root.map(PlaceArgs::at).unwrap_or_default();
    let places = place.places(dirs)?;
    let layers = layers_of(&SettingsSources::of(dirs, &places, None, "worktree"))?;
    let required = |layer: &Settings| layer.approval.required_to_loosen(|id| loosened.concerns(id));
    Ok(layers.iter().map(required).max().unwrap_or(Require::Nobody))
}

/// Has a person agree to a statement: the one way by which anything is loosened.
pub(super) fn agreed(out: &mut Out, asked: &Asked<'_>, statement: &Statement) -> Result<Agreed, String> {
    agreed_to_call(out, asked, statement, "", "")
}

/// The same, where the statement is about a call with this input, of which its host says that it does this.
pub(super) fn agreed_to_call(
    out: &mut Out,
    asked: &Asked<'_>,
    statement: &Statement,
    input: &str,
    action: &str,
) -> Result<Agreed, String> {
    let only = |why: String| format!("only a person can do this: {why}");
    match asked.require {
        Require::Terminal => {
            let roots: Vec<PathBuf> = asked.root.iter().map(|root| root.to_path_buf()).collect();
            at_terminal(&roots).map_err(only)?;
            says_yes(out, asked.question)?;
            let answer = sign_at_terminal(asked.dirs, statement)?;
            Ok(Agreed { signer: Signer { name: user(), strength: Strength::Terminal }, answer })
        }
        Require::Password => {
            let roots: Vec<PathBuf> = asked.root.iter().map(|root| root.to_path_buf()).collect();
            at_terminal(&roots).map_err(only)?;
            out.line(asked.question)?;
            let _ = out.stdout.flush();
            let answer = signed_with_password(&this_machine(), asked.dirs, statement, input, action)?;
            Ok(Agreed { signer: Signer { name: user(), strength: Strength::Password }, answer })
        }
        Require::Touch => {
            // An agent that makes the key blink gets a touch that was meant for something else.
            not_an_agent().map_err(only)?;
            has_terminal().map_err(only)?;
            says_yes(out, asked.question)?;
            out.line("touch the security key when it blinks")?;
            let signature = touched(asked.dirs, statement)?;
            signed(asked, statement, &signature)
        }
        Require::OtherPerson => {
            has_terminal().map_err(only)?;
            let file = asked.dirs.state.join("approvals/statement");
            let text = statement.text().map_err(|error| error.to_string())?;
            write_private(&file, &text).map_err(|error| format!("{}: {error}", file.display()))?;
            let _ = write!(
                out.stdout,
                "{}\nAnother person has to sign `{}`:\n  ssh-keygen -Y sign -n toolgate -f THEIR_KEY statement\nThe signature's file: ",
                asked.question,
                file.display()
            );
            let path = typed(out)?;
            if path.is_empty() {
                return Err("nothing was changed".into());
            }
            signed(asked, statement, &signature_of(Path::new(&path))?)
        }
        Require::Nobody => Err("the settings let nobody do this (`nobody` in `[approval]`)".into()),
    }
}

/// What a signature makes of a statement, if it is enough.
pub(super) fn signed(asked: &Asked<'_>, statement: &Statement, signature: &[u8]) -> Result<Agreed, String> {
    let signer = signer(&this_machine(), asked.dirs, statement, signature)?;
    if !asked.require.is_met_by(signer.strength) {
        let (have, need) = (signer.strength.word(), asked.require.word());
        return Err(format!("{} has signed, which is `{have}`; `{need}` is required", signer.name));
    }
    let answer = with_signature(statement, signature)?;
    Ok(Agreed { signer, answer })
}

/// The signature that a file of `ssh-keygen -Y sign` holds.
pub(super) fn signature_of(file: &Path) -> Result<Vec<u8>, String> {
    const LONGEST: usize = 64 * 1024;
    let failed = |error: io::Error| format!("{}: {error}", file.display());
    let bytes = read_regular(file, LONGEST).map_err(failed)?;
    dearmoured(&String::from_utf8_lossy(&bytes))
        .ok_or_else(|| format!("{} is not a signature of `ssh-keygen -Y sign`", file.display()))
}

/// Has a security key of this user sign, through OpenSSH's own program. What comes back is verified like any other signature.
fn touched(dirs: &Dirs, statement: &Statement) -> Result<Vec<u8>, String> {
    let none = "no security key of yours is enrolled; `toolgate approver add NAME KEY.pub` enrols one";
    let own = Approvers::read(dirs).map_err(|error| error.to_string())?.list;
    let user = user();
    let own: Vec<_> =
        own.into_iter().filter(|approver| approver.name == user && approver.key.is_touched()).collect();
    if own.is_empty() {
        return Err(none.into());
    }
    let entries = fs::read_dir(dirs.home.join(".ssh")).map_err(|error| format!("~/.ssh: {error}"))?;
    let is_own = |file: &PathBuf| {
        file.extension().is_some_and(|ending| ending == "pub")
            && key_of_file(file).is_ok_and(|key| own.iter().any(|approver| approver.key == key))
    };
    let file = entries.flatten().map(|entry| entry.path()).find(is_own);
    let file = file.ok_or(
        "the enrolled security key has no file in ~/.ssh; sign the statement by hand (`--statement`)",
    )?;
    let private = file.with_extension("");
    let mut child = Command::new("ssh-keygen")
        .args(["-Y", "sign", "-n", NAMESPACE, "-f"])
        .arg(if private.exists() { private } else { file })
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .map_err(|error| format!("ssh-keygen: {error}"))?;
    if let Some(mut stdin) = child.stdin.take() {
        let text = statement.text().map_err(|error| error.to_string())?;
        stdin.write_all(&text).map_err(|error| format!("ssh-keygen: {error}"))?;
    }
    let output = child.wait_with_output().map_err(|error| format!("ssh-keygen: {error}"))?;
    dearmoured(&String::from_utf8_lossy(&output.stdout)).ok_or_else(|| "ssh-keygen has not signed".to_owned())
}

fn has_terminal() -> Result<(), String> {
    let is_there = io::stdin().is_terminal() && io::stdout().is_terminal();
    if is_there { Ok(()) } else { Err("run it in a terminal".into()) }
}

fn says_yes(out: &mut Out, question: &str) -> Result<(), String> {
    let _ = write!(out.stdout, "{question} Type yes: ");
    if typed(out)? == "yes" { Ok(()) } else { Err("nothing was changed".into()) }
}

fn typed(out: &mut Out) -> Result<String, String> {
    let _ = out.stdout.flush();
    let mut answer = String::new();
    io::stdin().lock().read_line(&mut answer).map_err(|error| error.to_string())?;
    Ok(answer.trim().to_owned())
}

/// The user who runs this process, as the system knows them.
pub(super) fn user() -> String {
    user_name(&this_machine())
}

/// Records what a person has agreed to, with what it was about and how well it is known that it was a person.
pub(super) fn record_agreed(
    dirs: &Dirs,
    event: &str,
    about: &[(&str, &str)],
    agreement: &Agreement,
) -> Result<(), String> {
    agreement.keep(dirs)?;
    let about: Vec<(&str, &str)> = about.iter().copied().chain(agreement.recorded()).collect();
    record(dirs, event, &about)?;
    seal_soon(dirs);
    Ok(())
}

/// Has the log sealed by a process that nobody waits for: what was loosened cannot be taken out of it afterwards.
pub(super) fn seal_soon(dirs: &Dirs) {
    let _ = due::enable(&dirs.state);
    due::hurry(&dirs.state);
    // It is not waited for: it goes on when this command has ended.
    drop(start_if_due(dirs, true));
}

/// Records what a person has done, with what it was about.
pub(super) fn record(dirs: &Dirs, event: &str, about: &[(&str, &str)]) -> Result<(), String> {
    let draft = Draft::new(SystemTime::now(), "toolgate", redact(event)).agent(redact(&person()));
    let draft = about.iter().fold(draft, |draft, (name, value)| draft.arg(redact(name), redact(value)));
    let deadline = Instant::now() + DEADLINE;
    Ledger::at(&dirs.state).append(draft, deadline).map(|_| ()).map_err(|error| error.to_string())
}
