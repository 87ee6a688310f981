//! stub
#[derive(Debug, Clone, PartialEq, Eq)]
#[allow(dead_code)]
pub(crate) enum Deed { Read(Path), List(Path), Write(Path), Delete(Path), Enter(Path), Shell(String), Run(Vec<String>), Connect, Project, Unknown(&'static str) }
#[derive(Debug, Clone, PartialEq, Eq)]
#[allow(dead_code)]
pub(crate) enum Path { Known(String), Below(String), Unknown }
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Language { Python, Node, Perl, Ruby, Php, Lua, Other }
pub(crate) fn scan(_: Language, _: &str) -> Vec<Deed> { vec![Deed::Unknown("stub")] }
pub(crate) fn sed(_: &str) -> Vec<Deed> { vec![] }
pub(crate) fn awk(_: &str) -> Vec<Deed> { vec![] }
