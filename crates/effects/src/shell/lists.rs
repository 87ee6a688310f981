//! Files that name files: what a list says is used as if it stood in the command.

use toolgate_model::{Access, Gap, Reach};

use super::Interpreter;
use super::apply::slot_text;
use super::text::{Flow, Text};
use crate::spec::Reading;

/// How a program takes a list.
struct NameList {
    /// The option that has its name, or that makes lists of the operands.
    option: &'static str,
    access: Access,
    shape: Shape,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Shape {
    /// One name a line.
    Lines,
    /// Names with a NUL behind each.
    Zeros,
    /// A checksum and a name a line; the operands are such lists.
    Sums,
}

fn list_of(program: &str) -> Option<NameList> {
    let (option, access, shape) = match program {
        "sort" | "gsort" | "wc" | "gwc" => ("--files0-from", Access::Read, Shape::Zeros),
        "du" | "gdu" => ("--files0-from", Access::List, Shape::Zeros),
        "file" => ("-f", Access::Read, Shape::Lines),
        _ if program == "shasum" || program.ends_with("sum") => ("-c", Access::Read, Shape::Sums),
        _ => return None,
    };
    Some(NameList { option, access, shape })
}

/// Whether a program takes lists of files.
pub(super) fn takes_list(program: &str) -> bool {
    list_of(program).is_some()
}

impl Interpreter<'_, '_> {
    /// Uses the files of a program's lists. A list that is not known can name anything.
    pub(super) fn listed(&mut self, program: &str, reading: &Reading, arguments: &[Text]) {
        let Some(list) = list_of(program) else { return };
        for given in reading.options.iter().filter(|given| given.name == list.option) {
            let operands = || reading.operands.iter().filter_map(|at| arguments.get(*at).cloned());
            let mut files: Vec<Text> = match given.value {
                Some(slot) => vec![slot_text(arguments, &slot)],
                None => operands().collect(),
            };
            if files.is_empty() {
                files.push(Text::known("-"));
            }
            for file in files {
                let flow = if file.raw() == "-" { self.streams.stdin().clone() } else { self.content(&file) };
                match names(&flow, list.shape) {
                    Some(names) => {
                        for name in &names {
                            self.touch(list.access, Reach::Exact, name);
                        }
                    }
                    None => self.unknown(Gap::Option, &format!("{program} {}", list.option)),
                }
            }
        }
    }
}

fn names(flow: &Flow, shape: Shape) -> Option<Vec<Text>> {
    match (flow, shape) {
        (Flow::Lines(_), Shape::Sums) => None,
        // Whether the NULs of a text are all there is not known.
        (Flow::Text(_), Shape::Zeros) => None,
        (_, Shape::Sums) => flow.lines()?.iter().map(summed).collect(),
        _ => flow.lines(),
    }
}

/// The name in a line of checksums: `HASH  name`, `HASH *name`.
fn summed(line: &Text) -> Option<Text> {
    let (sum, name) = line.whole()?.split_once(' ')?;
    let is_sum = sum.len() >= 8 && sum.bytes().all(|byte| byte.is_ascii_hexdigit());
    let name = name.strip_prefix([' ', '*']).filter(|_| is_sum)?;
    Some(Text::known(name))
}
