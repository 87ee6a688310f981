use std::collections::BTreeMap;

use toolgate_model::{Lockout, Member, Place};

use super::super::{Containment, ContainmentLevel, FoundOutside, NetworkMode, Wanted};
use super::*;
use crate::outside_scope::ScopeEntry;
use crate::team::{FileRule, Role};

const NOBODY: &Agent<'static> = &Agent { id: None, kind: None };
/// What is in the worktree; a directory ends with a slash.
const THERE: &[&str] = &[
    "src/",
    "src/auth.ts",
    "src/lib/",
    "src/lib/x.gen.ts",
    "docs/",
    "docs/a.md",
    "README.md",
    "target/",
    "node_modules/",
    "node_modules/auth.js",
    ".squad/",
    ".squad/team.md",
    ".squad/agents/",
    ".squad/agents/ripley/",
    ".squad/agents/ripley/charter.md",
    ".squad/agents/ripley/history.md",
    ".squad/agents/dallas/",
    ".squad/agents/dallas/charter.md",
    ".squad/decisions/",
    ".squad/decisions/inbox/",
];

fn places() -> Places {
    Places {
        root: Some(Place::plain("/wt")),
        team: vec![Place::plain("/wt/.squad")],
        git: Some(Place::plain("/main/.git")),
        main: Some(Place::plain("/main")),
        ..Places::default()
    }
}

fn settings() -> Settings {
    let entry = |(path, rights): (&str, Rights)| ScopeEntry::new(path, rights);
    let scope = [("{worktree}", Rights::Write), ("/usr", Rights::Read)].map(entry).into();
    Settings { scope, ..Settings::default() }
}

#[expect(clippy::unnecessary_wraps, reason = "some disks cannot be read; this one can")]
fn entries(directory: &Path) -> Option<Entries> {
    let below = THERE.iter().map(|name| (Path::new("/wt").join(name), name.ends_with('/')));
    Some(below.filter(|(path, _)| path.parent() == Some(directory)).collect())
}

fn is_plain(path: &Path) -> bool {
    path == Path::new("/wt") || THERE.iter().any(|name| Path::new("/wt").join(name) == path)
}

fn is_free(path: &Path) -> bool {
    !is_plain(path)
}

const LOOK: Look<'static> = Look { entries: &entries, is_plain: &is_plain, is_free: &is_free };

fn terms(settings: &Settings, team: &Team, agent: &Agent<'_>) -> Containment {
    let places = places();
    let layers = [(settings, &places)];
    let narrowed = Narrowed::of(&layers, team, agent, LOOK).unwrap();
    Containment::of(&layers, &narrowed)
}

fn rights(terms: &Containment, path: &str) -> Rights {
    let covering = terms.places.iter().filter(|(place, _)| Path::new(path).starts_with(place));
    covering.max_by_key(|(place, _)| place.components().count()).map_or(Rights::None, |(_, rights)| *rights)
}

fn role(role: Role) -> (Settings, Team) {
    let settings = Settings { role: BTreeMap::from([("docs".to_owned(), role)]), ..settings() };
    let member = Member { role: "docs".to_owned(), ..Member::default() };
    (settings, Team { member, ..Team::default() })
}

fn list(globs: &[&str]) -> Vec<String> {
    globs.iter().map(|glob| (*glob).to_owned()).collect()
}

fn check(terms: &Containment, expected: &[(&str, Rights)]) {
    for (path, most) in expected {
        assert_eq!(rights(terms, path), *most, "{path}: {:?}", terms.places);
    }
}

#[test]
fn without_rules_about_agents_nothing_is_narrowed() {
    let narrowed = Narrowed::of(&[(&settings(), &places())], &Team::default(), NOBODY, LOOK).unwrap();
    assert_eq!(narrowed.places(), [] as [&Path; 0]);
    let terms = terms(&settings(), &Team::default(), NOBODY);
    assert!(terms.kept.is_empty() && terms.commits && terms.network == NetworkMode::All);
    check(&terms, &[("/wt/src/x", Rights::Write), ("/usr/bin", Rights::Read)]);
}

#[test]
fn a_role_writes_what_it_lists_and_nothing_else() {
    let (settings, team) =
        role(Role { write: Some(list(&["docs/**", "new/**", "*.md"])), ..Role::default() });
    let terms = terms(&settings, &team, NOBODY);
    check(
        &terms,
        &[
            ("/wt/docs/b.md", Rights::Write),
            ("/wt/README.md", Rights::Write),
            ("/wt/OTHER.md", Rights::Read),
            ("/wt/src/auth.ts", Rights::Read),
            // It is not there, so it cannot be opened.
            ("/wt/new/x", Rights::Read),
            ("/wt", Rights::Read),
            ("/usr/bin", Rights::Read),
        ],
    );
    assert!(terms.kept.is_empty() && terms.commits, "{:?}", terms.kept);
    let outside = |_: &Path| Some(FoundOutside { leads_to: None, is_writable: true });
    let denied =
        terms.denied("/wt/src/auth.ts".as_ref(), Wanted::Write, ContainmentLevel::Landlock, &outside);
    let denied = denied.unwrap();
    assert_eq!(denied.rule, "role-scope");
    assert!(denied.message.contains("role leaves it out; hand it to an agent"), "{}", denied.message);
}

#[test]
fn what_a_role_may_not_write_or_read_is_closed_inside_of_what_it_may() {
    let (settings, team) = role(Role {
        not_write: list(&["src/lib", "**/*.md", "not/there"]),
        not_read: list(&["docs"]),
        ..Role::default()
    });
    let terms = terms(&settings, &team, NOBODY);
    check(
        &terms,
        &[
            ("/wt/src/lib/x.gen.ts", Rights::Read),
            ("/wt/README.md", Rights::Read),
            ("/wt/src/x", Rights::Write),
            ("/wt/docs/a.md", Rights::None),
        ],
    );
    for path in ["/wt/README.md", "/wt/not/there", "/wt/src/lib"] {
        assert!(terms.kept.contains(&path.into()), "{path}: {:?}", terms.kept);
    }
    assert!(!terms.kept.contains(&"/wt/docs".into()));
}

#[test]
fn a_link_opens_nothing() {
    let (settings, team) = role(Role { write: Some(list(&["docs"])), ..Role::default() });
    let look = Look { is_plain: &|path| path != Path::new("/wt/docs"), ..LOOK };
    let narrowed = Narrowed::of(&[(&settings, &places())], &team, NOBODY, look).unwrap();
    assert_eq!(narrowed.places(), [Path::new("/wt")]);
}

#[test]
fn what_is_read_by_a_list_is_all_that_is_read_and_a_place_is_not_written_that_is_not_read() {
    let lists =
        Role { read: Some(list(&["docs"])), write: Some(list(&["docs", "target"])), ..Role::default() };
    let (settings, team) = role(lists);
    let terms = terms(&settings, &team, NOBODY);
    check(
        &terms,
        &[("/wt/docs/a.md", Rights::Write), ("/wt/target/x", Rights::None), ("/wt/src", Rights::None)],
    );
    let outside = |_: &Path| None;
    let denied =
        terms.denied("/wt/target/x".as_ref(), Wanted::Write, ContainmentLevel::Full, &outside).unwrap();
    assert!(denied.message.contains("list it for reading too") || denied.rule == "role-scope", "{denied}");
}

#[test]
fn a_role_that_reads_writes_nothing_and_commits_nothing() {
    let mut settings = settings();
    settings.policy.read_only_role.roles = list(&["explore"]);
    let explore = Agent { id: None, kind: Some("Explore".into()) };
    let narrow = terms(&settings, &Team::default(), &explore);
    check(&narrow, &[("/wt/src", Rights::Read), ("/wt/target/x", Rights::Read)]);
    assert!(!narrow.commits);
    let other = terms(&settings, &Team::default(), NOBODY);
    assert!(other.commits && rights(&other, "/wt/src") == Rights::Write);
}

#[test]
fn lockouts_close_artifacts_to_the_one_who_made_them() {
    let mut settings = settings();
    settings.policy.reviewer_lockout = serde_json::from_str(r#"{"enabled": true}"#).unwrap();
    let lockout = |artifact: &str| Lockout { artifact: artifact.to_owned(), agent: "Ripley".to_owned() };
    let team = |name: &str, artifact: &str| Team {
        member: Member { name: name.to_owned(), ..Member::default() },
        lockouts: vec![lockout(artifact)],
        ..Team::default()
    };
    for artifact in ["src/auth.ts", "auth", "src/*.ts", "**/auth.ts"] {
        let locked = terms(&settings, &team("ripley", artifact), NOBODY);
        assert!(locked.kept.contains(&"/wt/src/auth.ts".into()), "{artifact}: {:?}", locked.kept);
        // Directories of builds are left out.
        assert!(!locked.kept.contains(&"/wt/node_modules/auth.js".into()), "{artifact}");
        check(&locked, &[("/wt/src/lib/x", Rights::Write)]);
        let free = terms(&settings, &team("dallas", artifact), NOBODY);
        check(&free, &[("/wt/src/auth.ts", Rights::Write)]);
    }
    let broken = Team { unreadable: Some("broken".to_owned()), ..team("ripley", "x") };
    check(&terms(&settings, &broken, NOBODY), &[("/wt/src", Rights::Read)]);
}

#[test]
fn an_agent_with_a_list_writes_that_and_what_builds_make() {
    let mut settings = settings();
    settings.policy.ownership = serde_json::from_str(r#"{"enabled": true}"#).unwrap();
    let member =
        Member { name: "ripley".to_owned(), may_write: Some(list(&["src/**"])), ..Member::default() };
    let terms = terms(&settings, &Team { member, ..Team::default() }, NOBODY);
    check(
        &terms,
        &[("/wt/src/x", Rights::Write), ("/wt/target/x", Rights::Write), ("/wt/docs/a.md", Rights::Read)],
    );
}

/// A first build makes its directory, which nobody else may do there.
#[test]
fn the_directory_of_a_build_is_made_where_the_project_is_built_there() {
    let mut settings = settings();
    settings.policy.ownership = serde_json::from_str(r#"{"enabled": true}"#).unwrap();
    let member =
        Member { name: "ripley".to_owned(), may_write: Some(list(&["src/**"])), ..Member::default() };
    let team = Team { member, ..Team::default() };
    let is_plain = |path: &Path| path.ends_with("Cargo.toml") || path == Path::new("/wt/src");
    let look = Look { is_plain: &is_plain, is_free: &|path| !is_plain(path), ..LOOK };
    let places = places();
    let narrowed = Narrowed::of(&[(&settings, &places)], &team, NOBODY, look).unwrap();
    let terms = Containment::of(&[(&settings, &places)], &narrowed);
    assert_eq!(terms.made, [Path::new("/wt/target")]);
    check(&terms, &[("/wt/target/x", Rights::Write), ("/wt/node_modules/x", Rights::Read)]);
}

#[test]
fn the_teams_own_files_are_closed_but_for_those_of_the_member() {
    let mut settings = settings();
    settings.policy.ownership = serde_json::from_str(r#"{"enabled": true}"#).unwrap();
    settings.policy.read_scope = serde_json::from_str(r#"{"enabled": true}"#).unwrap();
    settings.policy.own_charter = serde_json::from_str(r#"{"enabled": true}"#).unwrap();
    let rule = |path: &str, write: &[&str], read: Option<&[&str]>| FileRule {
        path: path.to_owned(),
        write: list(write),
        read: read.map(list),
        append_only: false,
    };
    settings.team.file = vec![
        rule("agents/{name}", &["owner"], None),
        rule("agents/{name}/charter.md", &["owner"], Some(&["owner"])),
        rule("decisions/inbox", &["everyone"], None),
    ];
    let member = Member { name: "ripley".to_owned(), ..Member::default() };
    let terms = terms(&settings, &Team { member, ..Team::default() }, NOBODY);
    check(
        &terms,
        &[
            ("/wt/src/x", Rights::Write),
            ("/wt/.squad/team.md", Rights::Read),
            ("/wt/.squad/new", Rights::Read),
            ("/wt/.squad/decisions/inbox/x", Rights::Write),
            ("/wt/.squad/agents/ripley/history.md", Rights::Write),
            ("/wt/.squad/agents/ripley/charter.md", Rights::Read),
            ("/wt/.squad/agents/dallas/x", Rights::Read),
            ("/wt/.squad/agents/dallas/charter.md", Rights::None),
        ],
    );
    assert!(terms.kept.contains(&"/wt/.squad".into()), "{:?}", terms.kept);
}

#[test]
fn before_the_user_has_agreed_nothing_is_written() {
    let mut settings = settings();
    settings.policy.init_phase = serde_json::from_str(r#"{"enabled": true}"#).unwrap();
    let team = Team { phase: TeamPhase::Proposed, ..Team::default() };
    check(&terms(&settings, &team, NOBODY), &[("/wt/src", Rights::Read), ("/wt/.squad", Rights::Read)]);
    check(&terms(&settings, &Team::default(), NOBODY), &[("/wt/src", Rights::Write)]);
}

#[test]
fn what_is_not_declared_is_closed_and_so_is_the_network() {
    let mut settings = settings();
    let declared = r#"{"enabled": true, "inputs": ["docs/", "src/*.ts"], "outputs": ["docs/"]}"#;
    settings.policy.declared_io = serde_json::from_str(declared).unwrap();
    let terms = terms(&settings, &Team::default(), NOBODY);
    check(
        &terms,
        &[
            ("/wt/docs/a.md", Rights::Write),
            ("/wt/src/auth.ts", Rights::Read),
            ("/wt/src/lib/x.gen.ts", Rights::None),
            ("/wt/README.md", Rights::None),
        ],
    );
    assert!(terms.network == NetworkMode::None && !terms.commits);
}

#[test]
fn a_worktree_that_is_too_large_for_a_pattern_has_no_terms() {
    let (settings, team) = role(Role { not_write: list(&["**/x"]), ..Role::default() });
    let many =
        |directory: &Path| Some((0..60_000).map(|name| (directory.join(name.to_string()), false)).collect());
    let look = Look { entries: &many, ..LOOK };
    let told = Narrowed::of(&[(&settings, &places())], &team, NOBODY, look).unwrap_err();
    assert!(told.contains("`**/x`") && told.contains("name a directory"), "{told}");
    let closed = Look { entries: &|_| None, ..LOOK };
    let told = Narrowed::of(&[(&settings, &places())], &team, NOBODY, closed).unwrap_err();
    assert!(told.contains("/wt cannot be read") && told.contains("chmod u+rwx"), "{told}");
}
