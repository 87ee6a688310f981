//! What lies in a workspace now, by name and size.

use serde::Serialize;

use crate::error::Error;
use crate::workspace::Workspace;

/// The declared files that are there.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Listing {
    /// Those that may be read, by path.
    pub inputs: Vec<Listed>,
    /// Those that may be written, temporary ones too, by path. All that a quota counts.
    pub outputs: Vec<Listed>,
}

/// A file that is there.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Listed {
    /// Its path.
    pub path: String,
    /// Its length.
    pub size: u64,
}

impl Workspace {
    /// What lies here now. What is not declared, or is no regular file, is passed over.
    pub fn list(&self) -> Result<Listing, Error> {
        let mut listing = Listing::default();
        let is_input = |path: &str| self.declared.input(path).is_ok();
        let is_output = |path: &str| self.declared.output(path).is_ok();
        self.each_file(
            |path| is_input(path) || is_output(path),
            |path, size| {
                let listed = Listed { path: path.to_owned(), size };
                if is_output(path) {
                    listing.outputs.push(listed.clone());
                }
                if is_input(path) {
                    listing.inputs.push(listed);
                }
            },
        )?;
        listing.inputs.sort();
        listing.outputs.sort();
        Ok(listing)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Declaration, Pattern, Workspaces};

    #[test]
    fn a_listing_holds_declared_files_that_exist() {
        let scratch = tempfile::tempdir().unwrap();
        let patterns = |list: &[&str]| list.iter().map(|text| Pattern::parse(text).unwrap()).collect();
        let declaration = Declaration {
            inputs: patterns(&["in/", "both", "missing"]),
            outputs: patterns(&["out/", "both"]),
            temp: true,
            ..Declaration::default()
        };
        let workspaces = Workspaces::open(&scratch.path().join("base")).unwrap();
        let workspace = workspaces.create("a", declaration).unwrap();
        for path in ["out/b", "out/a", "both", "temp/t"] {
            workspace.write(path, path.as_bytes()).unwrap();
        }
        std::fs::create_dir(workspace.path().join("in")).unwrap();
        std::fs::write(workspace.path().join("in/x"), "0123456789").unwrap();
        std::fs::write(workspace.path().join("undeclared"), "").unwrap();
        std::os::unix::fs::symlink("/etc/passwd", workspace.path().join("in/link")).unwrap();
        let listing = workspace.list().unwrap();
        let shown =
            |files: &[Listed]| files.iter().map(|f| format!("{} {}", f.path, f.size)).collect::<Vec<_>>();
        assert_eq!(shown(&listing.inputs), ["both 4", "in/x 10"]);
        assert_eq!(shown(&listing.outputs), ["both 4", "out/a 5", "out/b 5", "temp/t 6"]);

        let input = workspace.input("in/x").unwrap();
        assert_eq!(input.read_part(0, 4).unwrap(), (b"0123".to_vec(), 10));
        assert_eq!(input.read_part(8, 100).unwrap(), (b"89".to_vec(), 10));
        assert_eq!(input.read_part(u64::MAX, usize::MAX).unwrap(), (Vec::new(), 10));
        assert_eq!(input.read_part(0, 0).unwrap(), (Vec::new(), 10));
    }
}
