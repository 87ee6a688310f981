//! What git's settings have it run, read and write: those of the command line, of the environment, and of the files that git reads.
//!
//! Against whom: an agent that names code or a place by a setting. git knows more than six hundred settings, and each version knows more. So
//! what is listed here is what is harmless; of any other key nobody knows what its value does.

use std::path::{Path, PathBuf};

use toolgate_declaration::wildcard_fits;
use toolgate_model::{Access, Doubt, Gap, Reach, below};

use super::super::Interpreter;
use super::super::text::{Text, is_mark};
use crate::recipes::git_config;

/// Files of settings that are read for one call, with those that they include.
const MAX_FILES: usize = 24;
/// How deep files may include one another.
const MAX_DEPTH: u32 = 5;

/// Keys whose values neither run anything nor name a place, whatever they are. A `*` stands for any part.
#[rustfmt::skip]
const HARMLESS: &[&str] = &[
    "advice.*", "am.keepcr", "am.threeway", "apply.ignorewhitespace", "apply.whitespace",
    "author.email", "author.name", "blame.blankboundary", "blame.coloring", "blame.date", "blame.markignoredlines",
    "blame.markunblamablelines", "blame.showemail", "blame.showroot", "branch.*.description", "branch.*.rebase",
    "branch.autosetupmerge", "branch.autosetuprebase", "branch.sort", "checkout.guess",
    "checkout.thresholdforparallelism", "checkout.workers", "clean.requireforce", "color.*", "column.*",
    "commit.cleanup", "commit.status", "commit.verbose", "committer.email", "committer.name", "commitgraph.*",
    "core.abbrev", "core.autocrlf", "core.bigfilethreshold", "core.checkstat", "core.commentchar",
    "core.commentstring", "core.commitgraph", "core.compression", "core.deltabasecachelimit", "core.eol",
    "core.filemode", "core.fscache", "core.fsync", "core.fsyncmethod", "core.fsyncobjectfiles", "core.ignorecase",
    "core.logallrefupdates", "core.longpaths", "core.loosecompression", "core.maxtreedepth", "core.multipackindex",
    "core.packedgitlimit", "core.packedgitwindowsize", "core.precomposeunicode", "core.preloadindex",
    "core.quotepath", "core.safecrlf", "core.splitindex", "core.symlinks", "core.trustctime",
    "core.untrackedcache", "core.usereplacerefs", "core.warnambiguousrefs", "core.whitespace",
    "credential.interactive", "credential.usehttppath", "credential.username", "diff.*.binary",
    "diff.*.cachetextconv", "diff.*.wordregex", "diff.*.xfuncname", "diff.algorithm", "diff.autorefreshindex",
    "diff.color*", "diff.context", "diff.dirstat", "diff.dstprefix", "diff.ignoresubmodules",
    "diff.indentheuristic", "diff.interhunkcontext", "diff.mnemonicprefix", "diff.noprefix", "diff.relative",
    "diff.renamelimit", "diff.renames", "diff.srcprefix", "diff.statgraphwidth", "diff.statnamewidth",
    "diff.submodule", "diff.suppressblankempty", "diff.wordregex", "diff.wserrorhighlight",
    "fastimport.unpacklimit", "feature.experimental", "feature.manyfiles", "fetch.all", "fetch.fsckobjects",
    "fetch.negotiationalgorithm", "fetch.output", "fetch.parallel", "fetch.prune", "fetch.prunetags",
    "fetch.showforcedupdates", "fetch.unpacklimit", "fetch.writecommitgraph", "format.attach", "format.cc",
    "format.coverfromdescription", "format.coverletter", "format.encodeemailheaders", "format.filenamemaxlength",
    "format.forceinbodyfrom", "format.from", "format.headers", "format.mboxrd", "format.notes", "format.noprefix",
    "format.numbered", "format.pretty", "format.signature", "format.signoff", "format.subjectprefix",
    "format.thread", "format.to", "format.useautobase", "gc.aggressivedepth", "gc.aggressivewindow", "gc.auto",
    "gc.autodetach", "gc.autopacklimit", "gc.packrefs", "gc.writecommitgraph", "grep.column",
    "grep.extendedregexp", "grep.fullname", "grep.linenumber", "grep.patterntype", "grep.threads",
    "http.followredirects", "http.lowspeedlimit", "http.lowspeedtime", "http.maxrequests", "http.minsessions",
    "http.postbuffer", "http.useragent", "http.version", "i18n.*", "index.*", "init.defaultbranch",
    "init.defaultobjectformat", "init.defaultrefformat", "interactive.singlekey", "log.abbrevcommit", "log.date",
    "log.decorate", "log.diffmerges", "log.excludedecoration", "log.follow", "log.graphcolors",
    "log.initialdecorationset", "log.mailmap", "log.showroot", "mailinfo.scissors", "mailmap.blob",
    "maintenance.auto", "maintenance.autodetach", "maintenance.strategy", "merge.autostash", "merge.branchdesc",
    "merge.conflictstyle", "merge.defaulttoupstream", "merge.directoryrenames", "merge.ff", "merge.log",
    "merge.renamelimit", "merge.renames", "merge.stat", "merge.suppressdest", "merge.verbosity",
    "notes.displayref", "pack.*", "pretty.*", "protocol.version", "pull.ff", "pull.rebase",
    "push.autosetupremote", "push.default", "push.followtags", "push.negotiate", "push.usebitmaps",
    "push.useforceifincludes", "rebase.abbreviatecommands", "rebase.autosquash", "rebase.autostash",
    "rebase.backend", "rebase.forkpoint", "rebase.maxlabellength", "rebase.missingcommitscheck",
    "rebase.reschedulefailedexec", "rebase.stat", "remote.*.prune", "remote.*.prunetags", "remote.*.tagopt",
    "repack.usedeltabaseoffset", "repack.usedeltaislands", "repack.writebitmaps", "rerere.autoupdate",
    "rerere.enabled", "safe.directory", "showbranch.default", "sparse.expectfilesoutsideofpatterns",
    "splitindex.*", "stash.showincludeuntracked", "stash.showpatch", "stash.showstat", "status.*",
    "submodule.fetchjobs", "tag.sort", "transfer.advertisesid", "transfer.fsckobjects", "transfer.unpacklimit",
    "user.email", "user.name", "user.useconfigonly", "versionsort.suffix", "worktree.guessremote",
];

const OFF: &[&str] = &["false", "no", "off", "0", ""];
const ON: &[&str] = &["true", "yes", "on", "1"];
const NOWHERE: &[&str] = &["/dev/null", ""];

/// Keys that are harmless with these values alone.
#[rustfmt::skip]
const HARMLESS_AS: &[(&str, &[&str])] = &[
    ("commit.gpgsign", OFF), ("core.attributesfile", NOWHERE), ("core.bare", OFF), ("core.excludesfile", NOWHERE),
    ("core.fsmonitor", OFF), ("core.hookspath", &["/dev/null"]), ("core.protecthfs", ON), ("core.protectntfs", ON),
    ("core.sparsecheckout", OFF), ("core.askpass", &["", "true", "false", "echo"]), ("credential.helper", &[""]),
    ("credential.*.helper", &[""]), ("diff.external", &[""]), ("fetch.recursesubmodules", OFF),
    ("help.autocorrect", &["0", "never", "prompt"]), ("http.sslverify", ON), ("init.templatedir", &[""]),
    ("log.showsignature", OFF), ("merge.verifysignatures", OFF), ("protocol.allow", &["never"]),
    ("protocol.*.allow", &["never"]), ("push.gpgsign", OFF), ("push.recursesubmodules", &["check", "no"]),
    ("rebase.updaterefs", OFF), ("submodule.recurse", OFF), ("tag.forcesignannotated", OFF), ("tag.gpgsign", OFF),
    ("uploadpack.packobjectshook", &[""]),
];

/// Keys that name a file which git reads.
#[rustfmt::skip]
const READ: &[&str] = &[
    "blame.ignorerevsfile", "commit.template", "core.attributesfile", "core.excludesfile", "diff.orderfile",
    "format.signaturefile", "fsck.skiplist", "http.*.cookiefile", "http.*.sslcainfo", "http.*.sslcapath",
    "http.*.sslcert", "http.*.sslkey", "http.cookiefile", "http.sslcainfo", "http.sslcapath", "http.sslcert",
    "http.sslkey", "mailmap.file", "gpg.ssh.allowedsignersfile", "gpg.ssh.revocationfile", "receive.fsck.skiplist",
    "fetch.fsck.skiplist", "sendemail.aliasesfile", "user.signingkey",
];

/// Keys that name a directory which git writes.
const WRITTEN: &[&str] = &["core.worktree", "format.outputdirectory"];

/// Keys that name another repository.
#[rustfmt::skip]
const REMOTES: &[&str] = &[
    "branch.*.pushremote", "branch.*.remote", "remote.*.pushurl", "remote.*.url", "remote.pushdefault",
    "submodule.*.url", "svn-remote.*.url",
];

/// Keys by which git comes to read settings or hooks from a place.
const BRING_CODE: &[&str] = &["core.hookspath", "include.path", "includeif.*.path", "init.templatedir"];

/// Keys whose value git runs. What is not here and not harmless is unknown; what is here is walked.
#[rustfmt::skip]
const RUN: &[&str] = &[
    "alias.*", "browser.*.cmd", "browser.*.path", "core.alternaterefscommand", "core.askpass", "core.editor",
    "core.fsmonitor", "core.gitproxy", "core.hookspath", "core.pager", "core.sshcommand", "credential.*.helper",
    "credential.helper", "diff.*.command", "diff.*.textconv", "diff.external", "difftool.*.cmd",
    "difftool.*.path", "filter.*.clean", "filter.*.process", "filter.*.smudge", "gpg.*.program", "gpg.program",
    "gpg.ssh.defaultkeycommand", "guitool.*.cmd", "hook.*", "imap.tunnel", "include.path", "includeif.*.path",
    "init.templatedir", "instaweb.browser", "instaweb.httpd", "interactive.difffilter", "man.*.cmd", "man.*.path",
    "merge.*.driver", "mergetool.*.cmd", "mergetool.*.path", "pager.*", "protocol.*", "remote.*.proxy",
    "remote.*.receivepack", "remote.*.uploadpack", "remote.*.vcs", "sendemail.*.cccmd", "sendemail.*.tocmd",
    "sendemail.cccmd", "sendemail.headercmd", "sendemail.sendmailcmd", "sendemail.smtpserver", "sendemail.tocmd",
    "sequence.editor", "submodule.*.update", "tar.*.command", "trailer.*.cmd", "trailer.*.command",
    "uploadpack.packobjectshook", "url.*.proxy",
];

/// A setting that is in force, by a file.
pub(in super::super) struct InForce {
    /// In small letters.
    pub(in super::super) key: String,
    pub(in super::super) value: String,
    /// Whether it stands in a file that contained programs can write.
    pub(in super::super) is_loose: bool,
}

fn fits(pattern: &str, key: &str) -> bool {
    let is_same = |rest: &[u8], byte: &u8| (rest.first() == Some(byte)).then_some(1);
    wildcard_fits(pattern.as_bytes(), key.as_bytes(), |byte| *byte == b'*', is_same)
}

fn is_among(patterns: &[&str], key: &str) -> bool {
    // Most are settled by the first letter, and none begins with a star.
    let first = key.as_bytes().first();
    patterns.iter().any(|pattern| pattern.as_bytes().first() == first && fits(pattern, key))
}

/// Whether a setting can neither run anything nor lead anywhere. The key is in small letters.
pub(in super::super) fn is_harmless(key: &str, value: &str) -> bool {
    // A key that is none, such as `color.` alone, is not looked at by git.
    let is_off = || OFF.contains(&value) || ON.contains(&value);
    is_among(HARMLESS, key)
        || HARMLESS_AS.iter().any(|(pattern, values)| fits(pattern, key) && values.contains(&value))
        || (key.starts_with("pager.") && is_off())
        || (is_pager_or_editor(key) && is_harmless_program(value))
}

fn is_pager_or_editor(key: &str) -> bool {
    matches!(key, "core.pager" | "core.editor" | "sequence.editor" | "interactive.difffilter")
        || key.starts_with("pager.")
}

/// Whether the value of a setting is run by git. The key is in small letters.
pub(in super::super) fn runs(key: &str) -> bool {
    is_among(RUN, key)
}

/// Pagers and editors that write nothing and take no commands.
pub(in super::super) fn is_harmless_program(value: &str) -> bool {
    const PROGRAMS: [&str; 19] = [
        "",
        ":",
        "/bin/cat",
        "/bin/false",
        "/bin/true",
        "/usr/bin/cat",
        "/usr/bin/true",
        "bat",
        "cat",
        "delta",
        "diff-so-fancy",
        "echo",
        "false",
        "head",
        "less",
        "more",
        "tac",
        "tail",
        "true",
    ];
    // Of `less`, options that neither write a log nor read a file of keys.
    let is_quiet = |word: &str| {
        word.strip_prefix('-').is_some_and(|letters| {
            !letters.is_empty() && letters.chars().all(|letter| "EFGIJKMNQRSUWXefgimnqrsuwx".contains(letter))
        })
    };
    let value = value.trim();
    PROGRAMS.contains(&value)
        || value.strip_prefix("less ").is_some_and(|options| options.split_whitespace().all(is_quiet))
}

/// Editors that do what a person types, or what comes from standard input.
pub(in super::super) fn takes_keys(value: &str) -> bool {
    const EDITORS: [&str; 18] = [
        "code",
        "code --wait",
        "code -w",
        "ed",
        "editor",
        "emacs",
        "emacs -nw",
        "emacsclient",
        "hx",
        "kak",
        "micro",
        "nano",
        "nvim",
        "pico",
        "subl -w",
        "vi",
        "vim",
        "vim -f",
    ];
    EDITORS.contains(&value.trim())
}

impl Interpreter<'_, '_> {
    /// `-c key=value`; a key alone is true.
    pub(in super::super) fn setting(&mut self, setting: &Text) {
        let (key, value) = setting.raw().split_once('=').unwrap_or((setting.raw(), "true"));
        self.setting_of(key, &Text::marked(value.to_owned()));
    }

    /// `--config-env=key=NAME`: the value is a variable's.
    pub(in super::super) fn setting_by_variable(&mut self, setting: &Text) {
        let Some((key, name)) = setting.raw().rsplit_once('=') else { return };
        for value in self.variable_texts(name) {
            self.setting_of(key, &value);
        }
    }

    fn setting_of(&mut self, written: &str, value: &Text) {
        let key = written.to_ascii_lowercase();
        let shown = || format!("git -c {}={}", Text::marked(written.to_owned()).shown(), value.shown());
        if key.contains(is_mark) {
            self.unknown(Gap::Code, &shown());
            return;
        }
        // What is not known may be any value, so it has to be harmless whatever it is.
        if is_among(HARMLESS, &key) || value.whole().is_some_and(|value| is_harmless(&key, value)) {
            return;
        }
        if is_among(BRING_CODE, &key) {
            self.unknown(Gap::Code, &shown());
            let value = self.tilde_marked(value.raw());
            self.touch(Access::Read, Reach::Below, &value);
        } else if let Some(command) = value.raw().strip_prefix('!').filter(|_| key.starts_with("alias.")) {
            let command = Text::marked(command.to_owned());
            self.forked(|shell| shell.text(&command, "git alias"));
        } else if key.starts_with("alias.") {
            self.git_words(value.raw());
        } else if key.starts_with("protocol.") {
            self.unknown(Gap::Code, &shown());
        } else if matches!(key.as_str(), "core.editor" | "sequence.editor") {
            self.editor(&shown(), value);
        } else if runs(&key) {
            let command = Text::marked(value.raw().trim_start_matches('!').to_owned());
            self.forked(|shell| shell.text(&command, &format!("git -c {written}")));
            // What git gives to it besides is not known; of `ssh` that is a host.
            let is_ssh = key == "core.sshcommand" && command.head().starts_with("ssh ");
            if !is_ssh && command.raw() != "ssh" {
                self.unknown(Gap::Option, &shown());
            }
        } else {
            let place = self.tilde_marked(value.raw());
            if is_among(READ, &key) {
                self.touch(Access::Read, Reach::Exact, &place);
            } else if is_among(WRITTEN, &key) {
                self.touch(Access::Write, Reach::Below, &place);
            } else if is_among(REMOTES, &key) {
                self.remote_address("fetch", value);
            } else if let Some(base) =
                key.strip_prefix("url.").and_then(|rest| rest.strip_suffix(".insteadof"))
            {
                // The address stands in the key, and letters matter there.
                let base = written.get(4..4 + base.len()).unwrap_or(base).to_owned();
                self.remote_address("fetch", &Text::marked(base));
            } else {
                self.guess_paths(std::slice::from_ref(value));
            }
            self.unknown(Gap::Option, &shown());
        }
    }

    /// A program that git hands a file to: what it writes there may be steps that git then does.
    pub(in super::super) fn editor(&mut self, named: &str, value: &Text) {
        match value.whole() {
            Some(value) if is_harmless_program(value) => {}
            Some(value) if takes_keys(value) => self.unknown(Gap::Doubt(Doubt::Terminal), named),
            _ => {
                self.forked(|shell| shell.text(value, named));
                self.unknown(Gap::Code, named);
            }
        }
    }

    /// Settings and hooks that the command has just written, wherever: git may come to read them.
    pub(super) fn written_settings(&mut self) {
        let files = self.state.disk.files().to_vec();
        for (path, flow) in files {
            let name = toolgate_model::base_name(&path);
            let is_hook = path.contains("/hooks/") || path.contains("/.husky/");
            if !is_hook && !matches!(name, "config" | ".gitconfig" | "config.worktree") {
                continue;
            }
            match flow.whole().map(str::to_owned) {
                Some(text) if is_hook => {
                    self.forked(|shell| shell.text(&Text::known(&text), &path));
                }
                Some(text) => {
                    for (key, value) in git_config::settings(&text) {
                        self.setting_of(&key, &Text::known(&value));
                    }
                }
                None => self.unknown(Gap::Code, &path),
            }
        }
    }

    /// All settings that git finds in files, in the order in which it takes them: a later one wins.
    pub(in super::super) fn settings_in_force(&self) -> Vec<InForce> {
        let mut files: Vec<PathBuf> = vec!["/etc/gitconfig".into()];
        let homes: Vec<String> =
            self.variable_texts("HOME").iter().filter_map(|home| self.one_place(home)).collect();
        let homes: Vec<String> =
            if homes.is_empty() { self.scene.home.map(str::to_owned).into_iter().collect() } else { homes };
        for home in &homes {
            files.extend([Path::new(home).join(".config/git/config"), Path::new(home).join(".gitconfig")]);
        }
        if let Some(repository) = self.repository() {
            files.extend([repository.common.join("config"), repository.own.join("config.worktree")]);
        }
        let mut found = Vec::new();
        let mut left = MAX_FILES;
        for file in &files {
            self.settings_of_file(file, MAX_DEPTH, &mut left, &mut found);
        }
        found
    }

    fn settings_of_file(&self, file: &Path, depth: u32, left: &mut usize, found: &mut Vec<InForce>) {
        let text = self.small_file(file);
        if depth == 0 || *left == 0 || (text.is_none() && self.scene.world.look(file).is_ok()) {
            // What is behind, or in a file that is too long to be read, could say anything.
            found.push(InForce { key: "include.path".to_owned(), value: String::new(), is_loose: true });
            return;
        }
        *left -= 1;
        let Some(text) = text else { return };
        let is_loose = self.is_loose(file);
        for (key, value) in git_config::settings(&text) {
            let key = key.to_ascii_lowercase();
            // Whether the condition of one holds is not looked at: rather one file too many.
            if fits("include.path", &key) || fits("includeif.*.path", &key) {
                let named = self.tilde(&value);
                let directory = file.parent().unwrap_or(Path::new("/"));
                let included = toolgate_model::clean(&directory.join(named.raw()));
                self.settings_of_file(&included, depth - 1, left, found);
            } else {
                found.push(InForce { key, value, is_loose });
            }
        }
    }

    /// Whether contained programs can write a file: it lies in the worktree, and is not git's own.
    pub(super) fn is_loose(&self, file: &Path) -> bool {
        let lies_in = |directory: &[u8]| below(directory, file.as_os_str().as_encoded_bytes()).is_some();
        let is_own = self.repository().is_some_and(|found| {
            lies_in(found.common.as_os_str().as_encoded_bytes())
                || lies_in(found.own.as_os_str().as_encoded_bytes())
        });
        let root = self.scene.root.or(self.scene.cwd).unwrap_or("/");
        root != "/" && lies_in(root.as_bytes()) && !is_own
    }

    /// Whether a setting has git run something that contained programs can write: by a file of the worktree that is a file of settings,
    /// or by a name that leads there.
    pub(in super::super) fn settings_lead_to_worktree(&self, settings: &[InForce]) -> bool {
        // Aliases and hooks are read where they run.
        let is_read = |key: &str| key.starts_with("alias.") || key == "core.hookspath";
        settings.iter().any(|InForce { key, value, is_loose }| {
            // `ext::./x` is the address of a program.
            let program = value.split_once("::").filter(|_| is_among(REMOTES, key)).map(|(_, rest)| rest);
            if *is_loose {
                !is_harmless(key, value)
            } else if let Some(program) = program {
                self.leads_to_worktree(program)
            } else {
                runs(key) && !is_read(key) && !is_harmless(key, value) && self.leads_to_worktree(value)
            }
        })
    }

    /// Whether a command names something in the worktree: a relative name, one below the session's root, or a file that is there.
    fn leads_to_worktree(&self, command: &str) -> bool {
        let root = self.scene.root.or(self.scene.cwd).unwrap_or("/");
        let top = self.git_top();
        let leads = |word: &str| {
            let is_relative = !word.starts_with(['/', '~', '-', '%'])
                && word.contains('/')
                && !word.contains("://")
                && !word.starts_with(".git/");
            let is_inside = || root != "/" && below(root.as_bytes(), word.as_bytes()).is_some();
            let is_file = || {
                let look = |top: &String| self.scene.world.look(&Path::new(top).join(word)).is_ok();
                word.contains('.') && !word.starts_with(['/', '-', '.']) && top.as_ref().is_some_and(look)
            };
            is_relative || is_inside() || is_file()
        };
        command.contains("$(")
            || command.contains('`')
            || command.split([' ', '!', '\'', '"', '=', ';', '|', '&']).any(leads)
    }
}

/// The last value of a key that is in force.
pub(super) fn last<'s>(settings: &'s [InForce], key: &str) -> Option<&'s str> {
    settings.iter().rev().find(|setting| setting.key == key).map(|setting| setting.value.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_listed_is_harmless() {
        for (key, value, harmless) in [
            ("user.name", "A B", true),
            ("color.ui", "always", true),
            ("color.diff.meta", "red", true),
            ("core.pager", "cat", true),
            ("core.pager", "less -FRX", true),
            ("core.pager", "less -oout", false),
            ("core.pager", "sh x", false),
            ("core.editor", "true", true),
            ("core.editor", "sed -i s/a/b/", false),
            ("sequence.editor", ":", true),
            ("pager.log", "false", true),
            ("pager.log", "./x", false),
            ("commit.gpgsign", "false", true),
            ("commit.gpgsign", "true", false),
            ("core.hookspath", "/dev/null", true),
            ("core.hookspath", "cat", false),
            ("include.path", "true", false),
            ("include.path", "", false),
            ("core.fsmonitor", "false", true),
            ("core.fsmonitor", "true", false),
            ("diff.renames", "copies", true),
            ("diff.external", "x", false),
            ("diff.orderfile", "x", false),
            ("format.suffix", "/../x", false),
            ("protocol.version", "2", true),
            ("protocol.ext.allow", "always", false),
            ("tar.x.command", "cat", false),
            ("rebase.instructionformat", "%n exec x", false),
            ("remote.o.url", "x", false),
            ("log.showsignature", "true", false),
            ("some.newkey", "1", false),
            ("", "", false),
        ] {
            assert_eq!(is_harmless(key, value), harmless, "{key}={value}");
        }
    }

    #[test]
    fn no_key_begins_with_a_star() {
        for list in [HARMLESS, READ, WRITTEN, REMOTES, BRING_CODE, RUN] {
            assert!(list.iter().all(|key| key.starts_with(|letter: char| letter.is_ascii_lowercase())));
        }
    }

    #[test]
    fn no_key_is_on_two_lists() {
        for key in RUN.iter().chain(READ).chain(WRITTEN).chain(REMOTES).chain(BRING_CODE) {
            let plain = key.replace('*', "x");
            assert!(!is_among(HARMLESS, &plain), "{key} is harmless and is not");
        }
        for key in BRING_CODE {
            assert!(runs(&key.replace('*', "x")), "{key}");
        }
    }
}
