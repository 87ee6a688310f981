//! A tool that nobody told us about, by the looks of its input.
//!
//! Against whom: an MCP server's `write_file`, or a tool that a host gained last week. Its parameters are
//! searched at every depth for what could name a file, in values and in keys; a parameter that holds a command
//! is a command.
//!
//! Under a word for a place (`path`, `target_dir`) nearly every text is a path. Under any other word only what
//! begins like one is, or climbs like one; such a guess is dropped later if its first name does not exist on the
//! machine, so that `/vercel/next.js` and `/remind me` are not taken for files.

use std::borrow::Cow;

use toolgate_model::{Access, Effect, Json, PathArg, Reach, Target, Unknown, has_dotdot, patched, quoted};

use crate::powershell::{as_shell, is_powershell};
use crate::shell::is_named_secret;
use crate::{Scene, analyse};

/// More paths than this in one input are not looked at one by one.
const MAX_PATHS: usize = 256;

pub(crate) fn effects<'a>(tool: &str, mcp: bool, input: &Json<'a>, scene: &Scene<'_>) -> Vec<Effect<'a>> {
    // A repository by its owner and its name is one on another machine, and so is what lies in it.
    let remote = ["owner", "repo"].iter().all(|name| matches!(input.get(name), Some(Json::Text(_))));
    let mut search = Search { effects: Vec::new(), commands: Vec::new(), remote };
    search.value(input, "", Hint::Other);
    let mut effects = search.effects;
    if effects.len() > MAX_PATHS {
        effects.truncate(MAX_PATHS);
        effects.push(write("", PathArg::NotText("more paths than can be judged"), false));
    }
    let names: Vec<Effect<'a>> =
        effects.iter().filter(|_| !says_writes(tool)).filter_map(read_of_secret).collect();
    effects.extend(names);
    if is_powershell(tool) {
        let typed = input.get("input").and_then(Json::text).map(str::to_owned);
        for script in search.commands.into_iter().chain(typed) {
            match as_shell(&script) {
                Some(command) => effects.extend(analyse(&command, scene).effects),
                None => effects.push(write("", PathArg::NotText("more code than can be judged"), false)),
            }
        }
    } else {
        for command in search.commands {
            effects.extend(analyse(&command, scene).effects);
        }
    }
    let name = Cow::Owned(tool.to_owned());
    effects.push(Effect::Unknown(if mcp { Unknown::McpTool(name) } else { Unknown::Tool(name) }));
    effects
}

/// What the words of a parameter's name say about its value.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Hint {
    /// A place: `path`, `directory`.
    Place,
    /// A place or a thing: `file`, `source`, `url`.
    PlaceOrThing,
    /// A command: `command`, `argv`.
    Command,
    /// Anything.
    Other,
}

struct Search<'a> {
    effects: Vec<Effect<'a>>,
    /// Texts under a word for a command.
    commands: Vec<String>,
    /// What is named is on another machine, unless it is named from the root of this one.
    remote: bool,
}

impl<'a> Search<'a> {
    /// `key` is the nearest name above the value, so that the entries of a list go by the list's name.
    fn value(&mut self, value: &Json<'a>, key: &str, hint: Hint) {
        if self.effects.len() > MAX_PATHS {
            return;
        }
        match value {
            Json::Text(text) => self.text(text, key, hint),
            // The words of a command, already apart.
            Json::List(values) => match quoted(values).filter(|_| hint == Hint::Command) {
                Some(command) => self.commands.push(command),
                None => values.iter().for_each(|value| self.value(value, key, hint)),
            },
            Json::Object(members) => {
                for (name, value) in members {
                    // `{"files": {"/etc/passwd": "…"}}`
                    if looks_like_path(name) {
                        self.guess(name, name);
                    }
                    // What stands below a command is a part of it.
                    let own = if hint == Hint::Command { hint } else { hint_of(name) };
                    self.value(value, name, own);
                }
            }
            Json::Null | Json::Bool(_) | Json::Int(_) | Json::Big(_) | Json::Float(_) => {}
        }
    }

    fn text(&mut self, text: &str, key: &str, hint: Hint) {
        let trimmed = text.trim();
        if trimmed.is_empty() || is_web_address(trimmed) {
            return;
        }
        let short_line = trimmed.len() <= 1024 && !trimmed.contains(['\n', '\t']);
        if trimmed.contains('\n') && hint != Hint::Command {
            for (_, file) in patched(text) {
                self.path(key, file);
            }
        }
        match hint {
            Hint::Command => self.commands.push(text.to_owned()),
            Hint::Place => self.path(key, text),
            Hint::PlaceOrThing if short_line => self.path(key, trimmed),
            Hint::PlaceOrThing | Hint::Other if looks_like_path(trimmed) => self.guess(key, trimmed),
            Hint::PlaceOrThing | Hint::Other => {}
        }
        // `--file=/etc/passwd`, `@/etc/passwd`, `"/etc/passwd"`, `a,/etc/passwd`, `other://host/etc/passwd`
        if hint != Hint::Command && short_line && !trimmed.contains(char::is_whitespace) {
            let pieces = trimmed.split(['=', ',', '@', '"', '\'', '(', ')', ';', '|', ':']).skip(1);
            for piece in pieces.filter(|piece| looks_like_path(piece)) {
                let local =
                    piece.strip_prefix("//").and_then(|rest| rest.find('/').and_then(|at| rest.get(at..)));
                self.guess(key, local.filter(|_| trimmed.contains("://")).unwrap_or(piece));
            }
            if trimmed.contains('\\') {
                self.guess(key, &trimmed.replace('\\', "/"));
            }
        }
    }

    fn path(&mut self, key: &str, text: &str) {
        if self.remote && !looks_like_path(text) {
            return;
        }
        for form in forms(text) {
            self.effects.push(write(key, PathArg::Text(Cow::Owned(form)), false));
        }
    }

    fn guess(&mut self, key: &str, text: &str) {
        for form in forms(text) {
            self.effects.push(write(key, PathArg::Text(Cow::Owned(form)), true));
        }
    }
}

fn write<'a>(key: &str, path: PathArg<'a>, guess: bool) -> Effect<'a> {
    let param = Cow::Owned(key.to_owned());
    Effect::Use(
        Access::Write,
        Target { param, path, reach: Reach::Exact, guess, assumed: false, git_data: false, origin: None },
    )
}

/// What could be written could as well be read, which matters for a secret file.
fn read_of_secret<'a>(effect: &Effect<'a>) -> Option<Effect<'a>> {
    let Effect::Use(_, target) = effect else { return None };
    is_named_secret(target.path.text()).then(|| Effect::Use(Access::Read, target.clone()))
}

/// Whether a tool's name says that it makes or changes files, and reads none.
fn says_writes(tool: &str) -> bool {
    const WORDS: [&str; 9] =
        ["write", "create", "edit", "append", "delete", "remove", "insert", "replace", "save"];
    let tool = tool.to_ascii_lowercase();
    WORDS.iter().any(|word| tool.contains(word)) && !tool.contains("read")
}

/// The words of the name: `filePath`, `target_file`, `dest-dir`.
fn hint_of(key: &str) -> Hint {
    const PLACES: [&str; 14] = [
        "path",
        "paths",
        "filepath",
        "filename",
        "dir",
        "dirs",
        "directory",
        "directories",
        "folder",
        "folders",
        "destination",
        "dest",
        "cwd",
        "workdir",
    ];
    const PLACES_OR_THINGS: [&str; 16] = [
        "file",
        "files",
        "notebook",
        "source",
        "src",
        "dst",
        "target",
        "uri",
        "uris",
        "url",
        "output",
        "outfile",
        "location",
        "root",
        "repo",
        "workspace",
    ];
    const COMMANDS: [&str; 9] =
        ["command", "commands", "cmd", "cmdline", "script", "shell", "argv", "exec", "code"];
    let mut hint = Hint::Other;
    let mut word = String::new();
    for c in key.chars().chain(['_']) {
        if !c.is_alphanumeric() || (c.is_uppercase() && !word.is_empty()) {
            let plain = word.trim_end_matches(|c: char| c.is_ascii_digit());
            if PLACES.contains(&plain) {
                hint = Hint::Place;
            } else if PLACES_OR_THINGS.contains(&plain) && hint != Hint::Place {
                hint = Hint::PlaceOrThing;
            } else if COMMANDS.contains(&plain) && key.len() == word.len() {
                return Hint::Command;
            }
            word.clear();
        }
        if c.is_alphanumeric() {
            word.extend(c.to_lowercase());
        }
    }
    hint
}

/// What can hardly be anything else, on one line: it begins like a path, or climbs like one.
fn looks_like_path(text: &str) -> bool {
    const STARTS: [&str; 7] = ["/", "~", "./", "../", "\\\\", "$HOME", "${HOME}"];
    let mut bytes = text.bytes();
    let drive = matches!((bytes.next(), bytes.next(), bytes.next()),
        (Some(letter), Some(b':'), Some(b'\\' | b'/')) if letter.is_ascii_alphabetic());
    let one_line = text.len() <= 4096 && !text.contains('\n');
    let climbs = has_dotdot(text) && !text.contains(char::is_whitespace);
    one_line
        && (drive || climbs || is_file_address(text) || STARTS.iter().any(|start| text.starts_with(start)))
}

fn is_web_address(text: &str) -> bool {
    let lower = text.get(..8).unwrap_or(text).to_ascii_lowercase();
    let host = lower.strip_prefix("https://").map(|_| 8).or(lower.strip_prefix("http://").map(|_| 7));
    host.and_then(|at| text.get(at..))
        .is_some_and(|rest| rest.starts_with(|c: char| c.is_alphanumeric() || c == '['))
}

/// `file:` in any case, also behind another scheme (`git+file:`).
fn is_file_address(text: &str) -> bool {
    let scheme = text.split_once(':').map(|(scheme, _)| scheme.to_ascii_lowercase());
    scheme.is_some_and(|scheme| scheme == "file" || scheme.ends_with("+file") || scheme.starts_with("sqlite"))
}

/// The path that a text means, in every reading that a tool might give it: as it stands, and with `%2e` read as
/// a dot.
fn forms(text: &str) -> Vec<String> {
    let mut path = text.to_owned();
    if is_file_address(text) {
        let rest = text.split_once(':').map(|(_, rest)| rest).unwrap_or_default();
        // `file:///etc`, `file:/etc` and `file://host/etc` all mean `/etc`.
        let local = match rest.strip_prefix("//") {
            Some(rest) => rest.find('/').and_then(|at| rest.get(at..)).unwrap_or("/"),
            None => rest,
        };
        local.clone_into(&mut path);
    }
    for home in ["$HOME", "${HOME}"] {
        if let Some(rest) = path.strip_prefix(home) {
            path = format!("~{rest}");
        }
    }
    // `~root/x` is somebody's home.
    if let Some(rest) =
        path.strip_prefix('~').filter(|rest| rest.starts_with(|c: char| c.is_ascii_alphabetic()))
    {
        path = if rest.starts_with("root") { format!("/{rest}") } else { format!("/home/{rest}") };
    }
    let mut all = vec![path];
    for _ in 0..3 {
        let Some(decoded) = all.last().and_then(|last| percent_decoded(last)) else { break };
        all.push(decoded);
    }
    all
}

/// `None` where there is nothing to decode.
fn percent_decoded(text: &str) -> Option<String> {
    let (first, mut rest) = text.split_once('%')?;
    let mut bytes = first.as_bytes().to_vec();
    let mut changed = false;
    loop {
        let code = rest.get(..2).and_then(|code| u8::from_str_radix(code, 16).ok());
        match code {
            Some(byte) => {
                bytes.push(byte);
                changed = true;
                rest = rest.get(2..).unwrap_or_default();
            }
            None => bytes.push(b'%'),
        }
        let Some((plain, next)) = rest.split_once('%') else {
            bytes.extend_from_slice(rest.as_bytes());
            break;
        };
        bytes.extend_from_slice(plain.as_bytes());
        rest = next;
    }
    changed.then(|| String::from_utf8_lossy(&bytes).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    const SCENE: Scene<'_> = Scene {
        world: &toolgate_model::EmptyWorld,
        cwd: Some("/w"),
        root: None,
        home: Some("/home/u"),
        tmp: None,
        unset: &|_| true,
    };

    fn found(input: &str) -> Vec<String> {
        let input: Json<'_> = serde_json::from_str(input).unwrap();
        let name = |effect: &Effect<'_>| match effect {
            Effect::Use(_, Target { path: PathArg::Text(text), guess: true, .. }) => format!("guess {text}"),
            Effect::Use(_, Target { path: PathArg::Text(text), .. }) => format!("write {text}"),
            Effect::Run(run) => format!("run {}", run.program),
            Effect::Unknown(Unknown::Shell { gap, .. }) => format!("{gap:?}").to_lowercase(),
            Effect::Unknown(_) => "unknown".into(),
            other => format!("{other:?}"),
        };
        let mut found: Vec<String> = effects("mcp__x__y", true, &input, &SCENE).iter().map(name).collect();
        assert_eq!(found.pop().as_deref(), Some("unknown"));
        found
    }

    #[test]
    fn a_parameter_that_looks_like_a_path_is_a_write() {
        for (input, expected) in [
            (r#"{"text":"hi"}"#, vec![]),
            (r#"{"path":"a.txt"}"#, vec!["write a.txt"]),
            (r#"{"path":"/a b/c"}"#, vec!["write /a b/c"]),
            (r#"{"path":"a\n/../b"}"#, vec!["write a\n/../b"]),
            (r#"{"targetFile":"a.txt"}"#, vec!["write a.txt"]),
            (r#"{"path2":"a.txt"}"#, vec!["write a.txt"]),
            (r#"{"x":{"y":["/etc/passwd"]}}"#, vec!["guess /etc/passwd"]),
            (r#"{"files":["a","b"]}"#, vec!["write a", "write b"]),
            (r#"{"files":{"/etc/passwd":"x y"}}"#, vec!["guess /etc/passwd"]),
            (r#"{"resource":"file:///etc/passwd"}"#, vec!["guess /etc/passwd", "guess /etc/passwd"]),
            (r#"{"resource":"FILE://localhost/etc/x"}"#, vec!["guess /etc/x", "guess /etc/x"]),
            (r#"{"uri":"file:/etc/x"}"#, vec!["write /etc/x", "guess /etc/x"]),
            (r#"{"uri":"other://host/etc/x"}"#, vec!["write other://host/etc/x", "guess /etc/x"]),
            (r#"{"paths":"a,/etc/x"}"#, vec!["write a,/etc/x", "guess /etc/x"]),
            (r#"{"path":"\"/etc/x\""}"#, vec!["write \"/etc/x\"", "guess /etc/x"]),
            (r#"{"path":"..\\..\\x"}"#, vec!["write ..\\..\\x", "guess ../../x"]),
            (r#"{"uri":"git+file:///etc/x"}"#, vec!["write /etc/x", "guess /etc/x"]),
            (
                r#"{"uri":"file:///w/%2e%2e/x"}"#,
                vec!["write /w/%2e%2e/x", "write /w/../x", "guess /w/%2e%2e/x", "guess /w/../x"],
            ),
            (r#"{"text":"../../x"}"#, vec!["guess ../../x"]),
            (r#"{"note":"src/../../x"}"#, vec!["guess src/../../x"]),
            (r#"{"note":"$HOME/.ssh"}"#, vec!["guess ~/.ssh"]),
            (r#"{"note":"~root/.ssh"}"#, vec!["guess /root/.ssh"]),
            (r#"{"note":"--file=/etc/x"}"#, vec!["guess /etc/x"]),
            (r#"{"note":"@/etc/x"}"#, vec!["guess /etc/x"]),
            (r#"{"note":" /etc/my file "}"#, vec!["guess /etc/my file"]),
            (r#"{"text":"see /etc/passwd for more"}"#, vec![]),
            (r#"{"uri":"https://example.com/a"}"#, vec![]),
            (r#"{"file":"http://../../x"}"#, vec!["write http://../../x", "guess /../x"]),
            (r#"{"profile":"default"}"#, vec![]),
            (r#"{"source":"def f():\n  return 1\n"}"#, vec![]),
            (r#"{"command":"rm -rf /"}"#, vec!["run rm", "write /"]),
            (r#"{"command":{"line":"rm -rf /"}}"#, vec!["run rm", "write /"]),
            (r#"{"argv":["sh","-c","x"]}"#, vec!["run sh", "run x", "program"]),
            (r#"{"path":""}"#, vec![]),
        ] {
            assert_eq!(found(input), expected, "{input}");
        }
    }

    #[test]
    fn too_many_paths_become_an_unreadable_one() {
        let many = format!(r#"{{"paths":[{}]}}"#, vec!["\"a\""; 1000].join(","));
        let input: Json<'_> = serde_json::from_str(&many).unwrap();
        let effects = effects("x", true, &input, &SCENE);
        assert!(effects.len() < 300);
        assert!(
            effects
                .iter()
                .any(|effect| matches!(effect, Effect::Use(_, Target { path: PathArg::NotText(_), .. })))
        );
    }
}
