//! Modules of the working directory that stand before the language's own.
//!
//! Against whom: `echo ... > json.py; python3 -c 'import json'`. Python looks for modules where it is started before it looks
//! into its own library, and one module of that loads many others.

use std::path::Path;

use toolgate_model::Effect;

use super::Interpreter;
use super::glob::MAX_NAMES;

/// The modules that come with Python.
const PYTHON: &str = "__future__ _abc _aix_support _ast _asyncio _bisect _blake2 _bootsubprocess _bz2 _codecs _codecs_cn \
    _codecs_hk _codecs_iso2022 _codecs_jp _codecs_kr _codecs_tw _collections _collections_abc _compat_pickle \
    _compression _contextvars _crypt _csv _ctypes _curses _curses_panel _datetime _dbm _decimal _elementtree \
    _frozen_importlib _frozen_importlib_external _functools _gdbm _hashlib _heapq _imp _io _json _locale \
    _lsprof _lzma _markupbase _md5 _msi _multibytecodec _multiprocessing _opcode _operator _osx_support \
    _overlapped _pickle _posixshmem _posixsubprocess _py_abc _pydecimal _pyio _queue _random _scproxy _sha1 \
    _sha256 _sha3 _sha512 _signal _sitebuiltins _socket _sqlite3 _sre _ssl _stat _statistics _string \
    _strptime _struct _symtable _thread _threading_local _tkinter _tokenize _tracemalloc _typing _uuid \
    _warnings _weakref _weakrefset _winapi _zoneinfo abc aifc antigravity argparse array ast asynchat \
    asyncio asyncore atexit audioop base64 bdb binascii bisect builtins bz2 cProfile calendar cgi cgitb \
    chunk cmath cmd code codecs codeop collections colorsys compileall concurrent configparser contextlib \
    contextvars copy copyreg crypt csv ctypes curses dataclasses datetime dbm decimal difflib dis distutils \
    doctest email encodings ensurepip enum errno faulthandler fcntl filecmp fileinput fnmatch fractions \
    ftplib functools gc genericpath getopt getpass gettext glob graphlib grp gzip hashlib heapq hmac html \
    http idlelib imaplib imghdr imp importlib inspect io ipaddress itertools json keyword lib2to3 linecache \
    locale logging lzma mailbox mailcap marshal math mimetypes mmap modulefinder msilib msvcrt \
    multiprocessing netrc nis nntplib nt ntpath nturl2path numbers opcode operator optparse os ossaudiodev \
    pathlib pdb pickle pickletools pipes pkgutil platform plistlib poplib posix posixpath pprint profile \
    pstats pty pwd py_compile pyclbr pydoc pydoc_data pyexpat queue quopri random re readline reprlib \
    resource rlcompleter runpy sched secrets select selectors shelve shlex shutil signal site smtpd smtplib \
    sndhdr socket socketserver spwd sqlite3 sre_compile sre_constants sre_parse ssl stat statistics string \
    stringprep struct subprocess sunau symtable sys sysconfig syslog tabnanny tarfile telnetlib tempfile \
    termios textwrap this threading time timeit tkinter token tokenize tomllib trace traceback tracemalloc \
    tty turtle turtledemo types typing unicodedata unittest urllib uu uuid venv warnings wave weakref \
    webbrowser winreg winsound wsgiref xdrlib xml xmlrpc zipapp zipfile zipimport zlib zoneinfo";

impl Interpreter<'_, '_> {
    /// Whether Python, started in one of these directories, may load something else than its own library.
    pub(super) fn shadows_python(&self, directories: &[std::rc::Rc<str>]) -> bool {
        directories.is_empty() || directories.iter().any(|directory| self.shadows_python_in(directory))
    }

    fn shadows_python_in(&self, directory: &str) -> bool {
        let listed = self.scene.world.names(Path::new(directory), MAX_NAMES);
        // In a large directory there may be any module.
        let Some(listed) = listed.unwrap_or(Some(Vec::new())) else {
            return true;
        };
        let there = listed.iter().filter_map(|path| path.file_name()?.to_str()).any(|name| {
            if name.contains('.') {
                return is_module(name);
            }
            let package = Path::new(directory).join(name).join("__init__.py");
            is_own(name) && self.scene.world.look(&package).is_ok()
        });
        there
            || self.report.effects().iter().any(|effect| is_made_module(effect, directory))
            || self.may_have_filled(&Path::new(directory).join("json.py"))
    }
}

/// Whether the command itself puts a module there.
fn is_made_module(effect: &Effect<'_>, directory: &str) -> bool {
    let Effect::Use(access, target) = effect else { return false };
    let path = target.path.text().as_bytes();
    let Some(rest) = toolgate_model::below(directory.as_bytes(), path) else { return false };
    let first = std::str::from_utf8(rest).ok().and_then(|rest| rest.split('/').next()).unwrap_or_default();
    access.fills() && (is_own(first) || is_module(first))
}

/// `json.py`, `json.pyc`, `json.cpython-312-x86_64-linux-gnu.so`
fn is_module(name: &str) -> bool {
    let loadable = Path::new(name)
        .extension()
        .is_some_and(|ending| ["py", "pyc", "pyd", "so"].iter().any(|known| ending == *known));
    loadable && name.split('.').next().is_some_and(is_own)
}

fn is_own(name: &str) -> bool {
    PYTHON.split(' ').any(|module| module == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_that_replace_python_modules_are_recognized() {
        for (name, is) in [
            ("json.py", true),
            ("enum.pyc", true),
            ("_json.cpython-312-x86_64-linux-gnu.so", true),
            ("main.py", false),
            ("json.txt", false),
            ("json", false),
        ] {
            assert_eq!(is_module(name), is, "{name}");
        }
    }
}
