//! What programs do, by example.

use super::*;
use crate::language::Language;

fn deeds_of(language: Language, code: &str) -> String {
    let path = |path: &Path| match path {
        Path::Known(path) => path.clone(),
        Path::Below(path) => format!("{path}*"),
        Path::Unknown => "?".into(),
    };
    let tell = |deed: &Deed| match deed {
        Deed::Read(file) => format!("read {}", path(file)),
        Deed::List(file) => format!("list {}", path(file)),
        Deed::Write(file) => format!("write {}", path(file)),
        Deed::Delete(file) => format!("delete {}", path(file)),
        Deed::Enter(file) => format!("enter {}", path(file)),
        Deed::Shell(text) => format!("sh {text}"),
        Deed::Run(words) => format!("run {}", words.join("|")),
        Deed::Mention(path) => format!("mention {path}"),
        Deed::Connect => "connect".into(),
        Deed::Project => "project".into(),
        Deed::Unknown(_) => "unknown".into(),
    };
    scan(language, code).iter().map(tell).collect::<Vec<_>>().join("; ")
}

fn check(language: Language, cases: &[(&str, &str)]) {
    let wrong: Vec<String> = cases
        .iter()
        .map(|(code, expected)| (code, expected, deeds_of(language, code)))
        .filter(|(_, expected, got)| got != **expected)
        .map(|(code, expected, got)| format!("{code}\n   expected: {expected}\n   got:      {got}"))
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn python_that_computes_has_no_effects() {
    check(
        Language::Python,
        &[
            ("", ""),
            ("print(1+1)", ""),
            ("import json,sys; print(json.load(sys.stdin)['a'])", ""),
            ("import sys; d={}; d['/etc/x']=1; print('/etc/x' in d)", "read /etc/x"),
            ("print('/etc/passwd')", ""),
            ("import re; print(re.sub(r'/etc/(.*)', '', 'a'))", ""),
            ("x = 'a/b/c'.split('/')[-1]; print(x)", ""),
            ("s = '''\nopen('/etc/x','w')\n'''\nprint(s)", ""),
            ("# open('/etc/x','w')\nprint(1)", ""),
            ("l=[1,2]; l.remove(1); d={}; d.copy(); 'a'.replace('b','c')", ""),
            ("import ast; ast.parse(open('src/a.py').read())", "read src/a.py"),
            ("import json; json.dump({}, open('a.json','w'), indent=2)", "write a.json"),
            ("from datetime import datetime; print(datetime.now().strftime('%Y/%m/%d'))", ""),
            ("for i in range(3): print(f'{i:>3}: {i/2:.2f}')", ""),
            ("url='http://h/api'; print(url + '/users/1')", ""),
            ("import mypkg", "project"),
            ("from src.x import y", "project"),
            ("import numpy as np; np.save('x.npy', [])", "project; write x.npy"),
            ("import tempfile, os; d = tempfile.mkdtemp(); open(os.path.join(d, 'x'), 'w')", ""),
            ("with tempfile.NamedTemporaryFile('w') as f: f.write('x')", ""),
            ("try:\n    import yaml\nexcept ImportError:\n    pass\n", "project"),
            ("compile(open('a.py').read(), 'a.py', 'exec')", "read a.py"),
            ("def f(x, y=2): return x/y\nprint(f(1))", ""),
            ("text = 'see /etc/hosts for more'; print(text)", ""),
            ("import hashlib; print(hashlib.sha256(b'x').hexdigest()[:8])", ""),
        ],
    );
}

#[test]
fn edits_by_python_are_found() {
    check(
        Language::Python,
        &[
            (
                "p='a.go'\ns=open(p,encoding='utf8').read()\ns=s.replace('x','y')\nopen(p,'w').write(s)",
                "read a.go; write a.go",
            ),
            (
                "from pathlib import Path\np = Path('src') / 'a.py'\np.write_text(p.read_text().replace('/etc/a', '/etc/b'))",
                "read src/a.py; write src/a.py",
            ),
            ("import os\nfor f in ['a', 'b']:\n    os.remove(f)", "delete a; delete b"),
            (
                "import os\nfor old, new in [('a','b'), ('c','d')]:\n    os.rename(old, new)",
                "delete a; delete c; write b; write d",
            ),
            (
                "edits = {'a.py': 'x', 'b.py': 'y'}\nfor f, t in edits.items():\n    open(f,'w').write(t)",
                "write a.py; write b.py",
            ),
            (
                "def sub(path, a, b):\n    s = open(path).read()\n    open(path, 'w').write(s.replace(a, b))\nsub('x.py', 'a', 'b')\nsub('y.py', 'c', 'd')",
                "read x.py; read y.py; write x.py; write y.py",
            ),
            (
                "import glob\nfor f in glob.glob('src/**/*.py', recursive=True):\n    s = open(f).read()\n    open(f,'w').write(s)",
                "list src/; read src/*; write src/*",
            ),
            (
                "import os\nfor root, dirs, files in os.walk('.'):\n    for f in files:\n        p = os.path.join(root, f)\n        open(p, 'w').write('')",
                "list .; write ./*",
            ),
            (
                "from pathlib import Path\nfor p in Path('src').rglob('*.py'):\n    p.write_text('')",
                "list src; write src/*",
            ),
            ("import os\nfor f in os.listdir('out'):\n    os.remove('out/' + f)", "list out; delete out/*"),
            ("for i in range(3):\n    open(f'out/{i}.txt', 'w')", "write out/*"),
            ("names = compute()\nfor n in names:\n    open('out/' + n, 'w')", "write out/*"),
            ("f = pick()\nopen(f, 'w')", "write .*"),
            ("import os; os.makedirs('a/b', exist_ok=True); os.chmod('a', 0o755)", "write a/b; write a"),
            (
                "import shutil; shutil.copy('a', 'b'); shutil.move('c', 'd'); shutil.rmtree('e')",
                "read a; write b; delete c; write d; delete e",
            ),
            ("import sqlite3; c = sqlite3.connect('x.db')", "write x.db"),
            ("import subprocess; subprocess.run(['pytest', '-q'], check=True)", "run pytest|-q"),
            (
                "import subprocess, sys; subprocess.run([sys.executable, '-m', 'pytest'])",
                "run python3|-m|pytest",
            ),
            ("import subprocess; subprocess.check_output('git status', shell=True)", "sh git status"),
            ("import os; os.system('make')", "sh make"),
            ("import os; print(os.path.exists('a'))", "list a"),
            ("with open('a') as f, open('b', 'w') as g:\n    g.write(f.read())", "read a; write b"),
            ("base = 'out'\npath = base + '/' + 'x.txt'\nopen(path, 'w')", "write out/x.txt"),
            ("open('%s/%s' % ('a', 'b'), 'w')", "write a/b"),
            ("open('{}/{}'.format('a', 'b'), 'w')", "write a/b"),
            (
                "files = []\nfiles.append('a')\nfiles.append('b')\nfor f in files: open(f, 'a')",
                "write a; write b",
            ),
            (
                "import pandas as pd; df = pd.read_csv('a.csv'); df.to_csv('b.csv')",
                "project; read a.csv; write b.csv",
            ),
            ("print('x', file=open('log', 'a'))", "write log"),
            (
                "import os\nos.remove('/home/u/w/a') if os.path.exists('/home/u/w/a') else None",
                "delete /home/u/w/a; list /home/u/w/a",
            ),
        ],
    );
}

#[test]
#[expect(clippy::too_many_lines, reason = "one line for each trick")]
fn files_programs_and_connections_of_python_are_found() {
    check(
        Language::Python,
        &[
            ("print(open('/etc/passwd').read())", "read /etc/passwd"),
            ("open('/etc/x','w+')", "write /etc/x"),
            ("open('/etc/x', mode='w')", "write /etc/x"),
            ("open(file='/etc/x', mode='a')", "write /etc/x"),
            ("open(mode='a', file='/etc/x')", "write /etc/x"),
            ("open('\\x2fetc\\u002fx','w')", "write /etc/x"),
            ("open('/et'+'c/x','w')", "write /etc/x"),
            ("open('/et' 'c/x','w')", "write /etc/x"),
            ("p='/'; p2=p+'etc'; open(p2+'/x','w')", "write /etc/x"),
            ("open(''.join(['/','e','t','c','/','x']),'w')", "write /etc/x"),
            ("open('/'.join(['','etc','x']),'w')", "write /etc/x"),
            ("d='/etc'; open(f'{d}/x','w')", "write /etc/x"),
            ("open('%s/x' % '/etc','w')", "write /etc/x"),
            ("open('{0}/x'.format('/etc'),'w')", "write /etc/x"),
            ("open('_etc_x'.replace('_','/'),'w')", "write /etc/x"),
            ("open(chr(47)+'etc/x','w')", "write /etc/x"),
            ("open(''.join(map(chr,[47,101])),'w')", "write ?"),
            ("open('x/cte/'[::-1],'w')", "write ?"),
            ("open('x/etc/y'[1:],'w')", "write ?"),
            ("open(bytes.fromhex('2f657463').decode(),'w')", "write ?"),
            ("import base64; open(base64.b64decode('L2V0Yy94').decode(),'w')", "write ?"),
            ("import codecs; open(codecs.decode('/rgp/k','rot13'),'w')", "write ?; write /rgp/k"),
            ("import os; open(os.sep+'etc','w')", "write /etc"),
            ("import os; open(os.path.join(os.pardir,'x'),'w')", "write ../x"),
            ("import os; open(os.path.join('a','/etc/x'),'w')", "write /etc/x"),
            ("import os; open(os.path.expanduser('~/.bashrc'),'a')", "write ~/.bashrc"),
            ("import os; open(os.environ['HOME']+'/.bashrc','a')", "write ~/.bashrc"),
            ("import os; open(os.environ.get('HOME')+'/x','a')", "write ~/x"),
            ("import os; open(os.environ['X']+'/y','a')", "write ?"),
            ("from os import environ as e; open(e['HOME']+'/x','w')", "write ~/x"),
            ("from pathlib import Path; (Path.home()/'.ssh'/'x').write_text('')", "write ~/.ssh/x"),
            ("import pathlib; (pathlib.Path('/')/'etc'/'x').unlink()", "delete /etc/x"),
            ("from pathlib import Path as P; P('/etc/x').write_bytes(b'')", "write /etc/x"),
            ("from pathlib import Path; Path('/etc').joinpath('x').touch()", "write /etc/x"),
            ("from pathlib import Path; Path('/etc/x').open('w').write('')", "write /etc/x"),
            ("from pathlib import Path; Path('a').rename('/etc/x')", "delete a; write /etc/x"),
            ("from pathlib import Path; Path('a').replace('/etc/x')", "delete a; write /etc/x"),
            ("from pathlib import Path; Path('a').symlink_to('/etc')", "write a; read /etc"),
            (
                "from pathlib import Path; p = Path('.').resolve().parent; (p/'x').write_text('')",
                "write ../x",
            ),
            ("import os; os.symlink('/etc', 'a')", "read /etc; write a"),
            ("import os as o; o.remove('/etc/x')", "delete /etc/x"),
            ("from os import *; remove('/etc/x')", "delete /etc/x"),
            ("from shutil import rmtree as r; r('/srv')", "delete /srv"),
            ("import os; f = os.remove; f('/etc/x')", "delete /etc/x"),
            ("import os; list(map(os.remove, ['/etc/x']))", "delete /etc/x"),
            ("import os; [os.remove(f) for f in ['/etc/x','b']]", "delete /etc/x; delete b"),
            ("import os; (lambda p: os.remove(p))('/etc/x')", "delete /etc/x"),
            ("import os; getattr(os,'remove')('/etc/x')", "delete /etc/x"),
            ("import os; getattr(os,'sys'+'tem')('rm -rf /')", "sh rm -rf /"),
            ("import os; o=os; getattr(o, x)('/etc/x')", "unknown; write /etc/x"),
            ("import os; os.__dict__['system']('id')", "sh id"),
            ("import os; vars(os)['system']('id')", "sh id"),
            ("__import__('os').system('id')", "sh id"),
            ("__import__('o'+'s').system('id')", "sh id"),
            ("import importlib; importlib.import_module('os').system('id')", "sh id"),
            ("import sys; sys.modules['os'].system('id')", "sh id"),
            ("import builtins; builtins.open('/etc/x','w')", "write /etc/x"),
            ("import io; io.open('/etc/x','w')", "write /etc/x"),
            ("import os; os.open('/etc/x', os.O_WRONLY|os.O_CREAT)", "write /etc/x"),
            ("import os; os.open('/etc/x', os.O_RDONLY)", "read /etc/x"),
            ("import os; os.chdir('..'); open('x','w')", "enter ..; write x"),
            ("import os; open('x','w'); os.chdir('..'); open('x','w')", "write x; enter ..; write x"),
            ("import os\ndef f(): open('x','w')\nos.chdir('..')\nf()", "write x; enter ..; write x"),
            ("import subprocess; subprocess.run(['rm','x'], cwd='..')", "sh cd '..' && 'rm' 'x'"),
            ("import subprocess; subprocess.run('rm x', shell=True, cwd='..')", "sh cd '..' && { rm x\n}"),
            ("import subprocess; subprocess.run(['rm',\"a'b\"], cwd='sub')", r"sh cd 'sub' && 'rm' 'a'\''b'"),
            ("import subprocess, sys; subprocess.run(['ls'], cwd=sys.argv[1])", "unknown"),
            (
                "import subprocess, tempfile; d=tempfile.mkdtemp(); subprocess.run(['git','init'], cwd=d)",
                "sh cd \"$(mktemp -d)\" && 'git' 'init'",
            ),
            ("import subprocess as s; s.run('id; ls', shell=True)", "sh id; ls"),
            ("from subprocess import check_output as c; c(['rm','-rf','/'])", "run rm|-rf|/"),
            ("import subprocess; subprocess.run(['rm', x])", "unknown"),
            ("import subprocess; subprocess.run(['ls'], cwd='/etc')", "sh cd '/etc' && 'ls'"),
            ("import os; os.execl('/bin/sh','sh','-c','id')", "run /bin/sh|-c|id"),
            ("import os; os.execv('/bin/sh',['sh','-c','id'])", "run /bin/sh|-c|id"),
            ("import pty; pty.spawn('/bin/sh')", "sh /bin/sh"),
            ("exec(\"open('/etc/x','w')\")", "write /etc/x"),
            ("exec(\"exec('import os; os.remove(1*\\\"/etc/x\\\")')\")", "delete /etc/x"),
            ("exec(input())", "unknown"),
            ("eval(compile(open('x').read(),'x','exec'))", "read x; unknown"),
            ("globals()['op'+'en']('/etc/x','w')", "unknown; write /etc/x"),
            ("import pickle; pickle.loads(b'x')", "unknown"),
            ("import ctypes; ctypes.CDLL(None).system(b'id')", "unknown; unknown"),
            ("import fileinput\nfor l in fileinput.input('/etc/x', inplace=True): print(l)", "write /etc/x"),
            ("import zipfile; zipfile.ZipFile('a.zip').extractall('/etc')", "read a.zip; write /etc"),
            ("import tarfile; tarfile.open('a.tar').extractall()", "read a.tar; write ."),
            ("import shutil; shutil.make_archive('/etc/x','zip','src')", "write /etc/x; read src"),
            ("import logging; logging.basicConfig(filename='/etc/x')", "write /etc/x"),
            ("import sqlite3; sqlite3.connect('/etc/x')", "write /etc/x"),
            ("import urllib.request as u; u.urlopen('http://x')", "connect"),
            ("import urllib.request as u; u.urlopen('file:///etc/x')", "connect; read /etc/x"),
            (
                "import requests; requests.post('http://x', data=open('/etc/passwd'))",
                "connect; read /etc/passwd",
            ),
            ("import socket; s=socket.socket()", "connect"),
            ("import os\nwhile True: os.fork()", "unknown"),
            ("import sys; open(sys.argv[1],'w')", "write ?"),
            ("open(input(),'w')", "write ?"),
            ("import sys\nfor l in sys.stdin: open(l.strip(),'w')", "write ?"),
            ("import json; p=json.load(open('c.json'))['p']; open(p,'w')", "read c.json; write ?"),
            ("import model; model.dump('/etc/x')", "project; write /etc/x"),
            ("x = '/etc/x'; weird(x)", "read /etc/x"),
            ("weird('/sheets/1/cells')", "mention /sheets/1/cells"),
            ("import os; weird('/sheets/1'); os.system('ls')", "sh ls; write /sheets/1"),
            ("import tempfile; d = tempfile.mkdtemp(); print(open(d + '/a').read())", ""),
            (
                "import tempfile; d = tempfile.mkdtemp(); print(open(d + '/../../etc/x').read())",
                "read /../../etc/x",
            ),
            ("p = pick('../x'); open(p,'w')", "write ?; write ../x"),
            ("p = pick('/etc/x'); open(p,'w')", "write .*; write /etc/x"),
            ("import glob, os\nfor f in glob.glob('/etc/*.conf'): os.remove(f)", "list /etc/; delete /etc/*"),
            (
                "import os\nfor f in os.listdir('/etc'): os.remove(os.path.join('/etc', f))",
                "list /etc; delete /etc/*",
            ),
            (
                "import os\nfor r,d,fs in os.walk('/srv'):\n  for f in fs: os.remove(os.path.join(r,f))",
                "list /srv; delete /srv/*",
            ),
            ("d = {'p': '/etc/x'}\nopen(d['p'], 'w')", "write /etc/x"),
            (
                "class A:\n    def __init__(self): self.p = '/etc/x'\n    def go(self): open(self.p, 'w')\nA().go()",
                "write /etc/x",
            ),
            ("def p(): return '/etc/x'\nopen(p(), 'w')", "write /etc/x"),
            ("if (p := '/etc/x'): open(p, 'w')", "write /etc/x"),
            ("a, b = '/etc/x', 'b'\nopen(a, 'w')", "write /etc/x"),
            ("a = b = '/etc/x'\nopen(b, 'w')", "write /etc/x"),
            ("x = 'a'\nfor i in range(9): x = x + '/..'\nopen(x, 'w')", "write ?; write /.."),
            ("x = '.'*2 + '/y'\nopen(x, 'w')", "write ../y"),
            ("print(f\"{open('/etc/x').read()}\")", "read /etc/x"),
            ("print(f\"{__import__('os').system('id')}\")", "sh id"),
            ("import os; os.popen('id').read()", "sh id"),
            ("import os; os.spawnlp(os.P_WAIT,'rm','rm','-rf','/')", "run rm|-rf|/"),
            ("exec('''\nimport os\nos.system(\"id\")\n''')", "sh id"),
            ("import shutil; shutil.copy('/etc/passwd','a')", "read /etc/passwd; write a"),
            (
                "import os; os.truncate('/etc/x',0); os.link('/etc/y','z')",
                "write /etc/x; read /etc/y; write z",
            ),
            ("import re; open(re.sub('_','/','_etc_x'),'w')", "write ?"),
            ("open('a/etc/x'.removeprefix('a'),'w')", "write ?"),
            ("open('a/etc/x'.lstrip('a'),'w')", "write ?"),
            ("import os; open(os.__file__,'w')", "write ?"),
            ("lambda x=__import__('os').system('id'): x", "sh id"),
            ("import os; os.kill(1,9)", "unknown"),
            ("import os; os.open('/etc/x', 577)", "write /etc/x"),
            ("a=['/etc/x','w']\nopen(*a)", "write /etc/x"),
            ("open(next(iter(['/etc/x'])),'w')", "write /etc/x"),
            ("import socket,subprocess; subprocess.call(['/bin/sh','-i'])", "connect; run /bin/sh|-i"),
            ("o={'file':'/etc/x','mode':'w'}\nopen(**o)", "write /etc/x"),
            (
                "import threading, os; threading.Thread(target=os.remove,args=('/etc/x',)).start()",
                "delete /etc/x",
            ),
            ("import atexit, os; atexit.register(os.remove,'/etc/x')", "delete /etc/x"),
            ("open(sorted(['/etc/x'])[0],'w')", "write /etc/x"),
            ("for d, f in zip(['/etc'],['x']): open(d+'/'+f,'w')", "write /etc/x"),
            ("p = {}\np['a'] = '/etc/x'\nopen(p['a'],'w')", "write /etc/x"),
            ("import os\nos\\\n.remove('/etc/x')", "delete /etc/x"),
            ("import os as json; json.system('id')", "sh id"),
            ("open('", "unknown"),
        ],
    );
}

#[test]
fn effects_of_node_code_are_found() {
    check(
        Language::Node,
        &[
            ("console.log(1+1)", ""),
            ("JSON.parse(process.argv[1]).foo", ""),
            ("const r=require('./a.json');console.log(r.length)", "read ./a.json"),
            ("require('./lib/x').run()", "read ./lib/x; project"),
            ("const _ = require('lodash'); console.log(_.map([1], x => x/2))", "project"),
            (r"const t=[...'a'.matchAll(/<text[^>]*>([^<]*)<\/text>/g)].map(m=>m[1]).join('')", ""),
            ("// fs.rmSync('/etc/x')\n/* fs.rmSync('/etc/y') */ let a = 4 / 2 / 1", ""),
            ("console.log(`a ${1+1} b`, '/etc/x')", ""),
            (
                "const path=require('path'),fs=require('fs');const d='build';for(const f of fs.readdirSync(d)){console.log(fs.readFileSync(path.join(d,f)).length)}",
                "list build; read build/*",
            ),
            (
                "const p='package.json';const fs=require('fs');const j=JSON.parse(fs.readFileSync(p));j.x=1;fs.writeFileSync(p,JSON.stringify(j,null,2))",
                "read package.json; write package.json",
            ),
            ("setTimeout(() => {}, 10); new Promise(r => setTimeout(r, 1))", ""),
            ("require('child_process').execSync('git status')", "sh git status"),
            ("require('child_process').execSync('rm x',{cwd:'..'})", "sh cd '..' && { rm x\n}"),
            ("require('child_process').spawn('rm',['x'],{cwd:'..'})", "sh cd '..' && 'rm' 'x'"),
            ("require('child_process').spawnSync('git',['status'],{stdio:'inherit'})", "run git|status"),
            ("import fs from 'fs'; fs.writeFileSync('/etc/x','')", "write /etc/x"),
            ("import * as f from 'node:fs'; f.rmSync('/etc/x',{recursive:true})", "delete /etc/x"),
            ("import {writeFileSync as w} from 'fs'; w('/etc/x','')", "write /etc/x"),
            (
                "const {rmSync: r, writeFileSync} = require('fs'); r('/etc/x'); writeFileSync('/etc/y','')",
                "delete /etc/x; write /etc/y",
            ),
            ("require('fs').promises.writeFile('/etc/x','')", "write /etc/x"),
            ("const fsp = require('fs/promises'); await fsp.rm('/etc/x')", "delete /etc/x"),
            ("require('fs')['rmSync']('/etc/x')", "delete /etc/x"),
            ("fs.rmSync('/etc/x')", "delete /etc/x"),
            (
                "const fs=require('fs');['/etc/a','/etc/b'].forEach(f => fs.unlinkSync(f))",
                "delete /etc/a; delete /etc/b",
            ),
            ("const fs=require('fs');['/etc/a'].forEach(fs.unlinkSync)", "delete /etc/a"),
            ("const d='/etc';require('fs').writeFileSync(`${d}/x`,'')", "write /etc/x"),
            ("require('fs').writeFileSync(require('os').homedir()+'/.bashrc','')", "write ~/.bashrc"),
            ("require('fs').writeFileSync(process.env.HOME+'/.bashrc','')", "write ~/.bashrc"),
            ("require('fs').writeFileSync(process.env['X'],'')", "write ?"),
            ("require('fs').writeFileSync(require('path').join('..','x'),'')", "write ../x"),
            (r"require('fs').writeFileSync('\x2fetc/x','')", "write /etc/x"),
            ("require('fs').writeFileSync(String.fromCharCode(47)+'x','')", "write /x"),
            ("require('fs').writeFileSync(atob('L2V0Yw=='),'')", "write ?"),
            ("require('fs').writeFileSync('x/cte/'.split('').reverse().join(''),'')", "write ?"),
            ("require('f'+'s').rmSync('/etc/x')", "delete /etc/x"),
            ("require(x).rmSync('/etc/x')", "unknown; write /etc/x"),
            ("const cp=require('child_process');cp.exec('id',(e,o)=>console.log(o))", "sh id"),
            (
                "const {exec}=require('child_process');const p=require('util').promisify(exec);p('id')",
                "sh id",
            ),
            ("require('child_process').execFile(x,['a'])", "unknown"),
            ("eval('require(\"fs\").rmSync(\"/etc/x\")')", "delete /etc/x"),
            ("new Function('return process')()", ""),
            ("new Function(atob('x'))()", "unknown"),
            ("process.binding('fs')", "unknown"),
            ("process.chdir('..'); require('fs').writeFileSync('x','')", "enter ..; write x"),
            ("fetch('http://x').then(r=>r.text())", "connect"),
            ("require('http').get('http://x')", "connect"),
            ("await Bun.write('/etc/x','')", "write /etc/x"),
            ("Deno.removeSync('/etc/x')", "delete /etc/x"),
            ("await Bun.$`rm -rf /etc/x`", "sh rm -rf /etc/x"),
            ("const fs=require('fs');const o={p:'/etc/x'};fs.writeFileSync(o.p,'')", "write /etc/x"),
            ("const fs=require('fs');function w(p){fs.writeFileSync(p,'')}\nw('/etc/x')", "write /etc/x"),
            ("const fs=require('fs');const w=(p)=>fs.writeFileSync(p,'');w('/etc/x')", "write /etc/x"),
            ("const fs=require('fs');fs.writeFileSync.call(null,'/etc/x','')", "write /etc/x"),
            (
                "const fs=require('fs');fs.createReadStream('/root/x').pipe(fs.createWriteStream('y'))",
                "read /root/x; write y",
            ),
            ("require('fs').symlinkSync('/etc','a')", "read /etc; write a"),
            ("require('fs').rmSync('x/etc'.slice(1))", "delete ?"),
            ("import('fs').then(fs=>fs.rmSync('/etc/x'))", "delete /etc/x"),
            ("import('fs').then(({rmSync})=>rmSync('/etc/x'))", "delete /etc/x"),
            ("Reflect.apply(require('fs').rmSync,null,['/etc/x'])", "delete /etc/x"),
            ("const o={f:require('fs').rmSync};go(o,'/etc/x')", "write /etc/x"),
            (
                "Object.entries({'/etc/x':'y'}).forEach(([a,b])=>require('fs').writeFileSync(a,b))",
                "write /etc/x",
            ),
            ("process.mainModule.require('child_process').execSync('id')", "sh id"),
        ],
    );
}

#[test]
fn effects_of_perl_code_are_found() {
    check(
        Language::Perl,
        &[
            ("s/a/b/g", ""),
            (r#"s/"x"/"y \\z"/; s{/etc/x}{/etc/y}g; tr/a-z/A-Z/; y/a/b/"#, ""),
            (r#"print if /foo/; $x = $y / 2; print "$x\n" / 3"#, ""),
            (r#"print $F[0], "\n" if $. > 3"#, ""),
            ("my %h = (a => 1); $h{x}++; print join(',', sort keys %h)", ""),
            (r"s/(\d+)/$1+1/e", ""),
            (r"s{x}{unlink('/etc/x')}e", "delete /etc/x"),
            ("s/x/`id`/e", "sh id"),
            ("s/x/$1/ee", "unknown"),
            ("/(?{system('id')})/", "unknown"),
            ("open(F,'>','/etc/x'); print F 'x'", "write /etc/x"),
            ("open F,\">/etc/x\"; print F $_", "write /etc/x"),
            ("open(my $f, '>>', \"$ENV{HOME}/.bashrc\")", "write ~/.bashrc"),
            ("open(my $f, '>>', $ENV{HOME}.'/.bashrc')", "write ~/.bashrc"),
            ("open(F, '/etc/x'); print <F>", "read /etc/x"),
            ("open(F, '|sh'); open(G, 'id|')", "sh sh; sh id"),
            ("open(F, '-|', 'ls', '/etc')", "run ls|/etc"),
            ("print {open my $f, '>', '/etc/x'; $f} 'x'", "write /etc/x"),
            ("unlink '/etc/x', 'b'", "delete /etc/x; delete b"),
            ("unlink qw(/etc/x b)", "delete /etc/x; delete b"),
            ("unlink glob('/etc/*')", "list /etc/; delete /etc/*"),
            ("unlink for </etc/*>", "delete /etc/*; list /etc/"),
            ("unlink foreach glob '/etc/*'", "delete /etc/*; list /etc/"),
            ("rename 'a','/etc/x'; mkdir '/etc/y'", "delete a; write /etc/x; write /etc/y"),
            ("system('id'); exec 'ls', '-l'; `pwd`; qx{date}", "sh id; run ls|-l; sh pwd; sh date"),
            ("system $x", "unknown"),
            ("my $d = '/etc'; system(\"rm $d/x\")", "sh rm /etc/x"),
            ("eval { die }; eval \"unlink '/etc/x'\"", "delete /etc/x"),
            ("eval $x", "unknown"),
            ("chdir '..'; open(F,'>x')", "enter ..; write x"),
            ("use File::Path; rmtree('/srv')", "delete /srv"),
            ("use File::Copy; copy('a','/etc/x')", "read a; write /etc/x"),
            ("use LWP::Simple; getprint('http://x')", "connect"),
            ("use JSON; print 1", "project"),
            ("use strict; use warnings; use List::Util qw(sum); print sum(1,2)", ""),
            ("fork while fork", "unknown"),
            ("IO::File->new('>/etc/x'); IO::File->new('/etc/y','w')", "write /etc/x; write /etc/y"),
            ("exec {'sh'} 'sh','-c','id'", "unknown"),
            (r"s/.*/unlink '\/etc\/x'/e", "delete /etc/x"),
            ("map { unlink $_ } ('/etc/x')", "delete ?; write /etc/x"),
            ("$x = '/et' . 'c/x'; unlink $x", "delete /etc/x"),
            ("unlink chr(47).'etc'", "delete /etc"),
            ("unlink pack('H*','2f')", "delete ?"),
            ("my $t = <<'E';\nunlink '/etc/x'\nE\nprint $t", ""),
            ("my $t = <<E;\n@{[ unlink '/etc/x' ]}\nE\n", "delete /etc/x"),
            ("q(unlink '/etc/x'); # unlink '/etc/y'", ""),
            ("print 1;\n__END__\nunlink '/etc/x'", ""),
            ("foreach my $f ('/etc/x','b') { unlink $f }", "delete /etc/x; delete b"),
            ("open(F, \"<$ARGV[0]\")", "read ?"),
        ],
    );
}

#[test]
fn effects_of_ruby_code_are_found() {
    check(
        Language::Ruby,
        &[
            ("puts 1 + 1", ""),
            ("echo hi", ""),
            ("puts [1,2].map { |x| x * 2 }.join(',')", ""),
            ("require 'json'; puts JSON.pretty_generate(JSON.parse(STDIN.read))", ""),
            ("ARGF.each { |l| puts l.sub(/a/, 'b') }", ""),
            ("x = 10 / 2; y = x / 5", ""),
            ("puts <<~E\n  File.delete('/etc/x')\nE\n", ""),
            ("File.write('a', File.read('a').gsub('x', 'y'))", "read a; write a"),
            ("Dir.glob('src/*.rb').each { |f| File.write(f, '') }", "list src/; write src/*"),
            ("File.write(\"/etc/x\",\"\")", "write /etc/x"),
            ("File.open('/etc/x','w') { |f| f.puts 1 }", "write /etc/x"),
            ("Dir.chdir('..'); File.write('x','')", "enter ..; write x"),
            ("system \"touch /etc/x\"", "sh touch /etc/x"),
            ("system 'rm', '-rf', '/'", "run rm|-rf|/"),
            ("`id`; %x(ls); exec \"pwd\"; IO.popen('w')", "sh id; sh ls; sh pwd; sh w"),
            ("open('|id').read", "sh id"),
            ("require 'fileutils'; FileUtils.rm_rf '/srv'", "delete /srv"),
            ("FileUtils.rm_rf [\"/srv\", \"a\"]", "delete /srv; delete a"),
            ("FileUtils.rm_rf Dir[\"/srv/*\"]", "list /srv/; delete /srv/*"),
            ("include FileUtils; rm_rf '/srv'", "delete /srv"),
            ("Kernel.send(:system, 'id')", "sh id"),
            ("send :system, 'id'", "sh id"),
            ("method(:system).call('id')", "sh id"),
            ("['/etc/x'].each(&File.method(:delete))", "delete /etc/x"),
            ("Pathname.new('/etc').join('x').write('')", "write /etc/x"),
            ("Kernel.send(x, 'id')", "unknown"),
            ("eval 'File.delete(\"/etc/x\")'", "delete /etc/x"),
            ("eval STDIN.read", "unknown"),
            ("File.write(Dir.home + '/.bashrc', '')", "write ~/.bashrc"),
            ("File.write(\"#{ENV['HOME']}/x\", '')", "write ~/x"),
            ("File.write(File.join('..','x'), '')", "write ../x"),
            ("File.write(File.expand_path('~/x'), '')", "write ~/x"),
            ("require 'pathname'; Pathname.new('/etc/x').write('')", "write /etc/x"),
            ("%w[/etc/a /etc/b].each { |f| File.delete(f) }", "delete /etc/a; delete /etc/b"),
            ("['/etc/a'].each do |f| File.delete f end", "delete /etc/a"),
            ("require 'net/http'; Net::HTTP.get(URI('http://x'))", "connect"),
            ("require './lib/x'", "read ./lib/x; project"),
            ("loop { fork }", "unknown"),
            ("File.delete(['2f'].pack('H*'))", "delete ?"),
        ],
    );
}

#[test]
fn effects_of_php_and_lua_code_are_found() {
    check(
        Language::Php,
        &[
            ("echo 1+1;", ""),
            ("<?php echo json_encode(['a' => 1]); ?> <b>/etc/x</b>", ""),
            ("print_r(json_decode(file_get_contents('a.json'), true));", "read a.json"),
            ("<?php file_put_contents('/etc/x','x');", "write /etc/x"),
            ("$f = '/etc' . '/x'; unlink($f);", "delete /etc/x"),
            ("$d = '/etc'; unlink(\"$d/x\"); unlink(\"{$d}/y\");", "delete /etc/x; delete /etc/y"),
            ("system('id'); echo `ls`; shell_exec(\"pwd\");", "sh id; sh ls; sh pwd"),
            ("$f = 'system'; $f('id');", "sh id"),
            ("$f = $_GET['x']; $f('id');", "unknown"),
            ("call_user_func('system', 'id');", "sh id"),
            ("array_map('unlink', ['/etc/x']);", "delete /etc/x"),
            ("array_filter(['id'], 'system');", "sh id"),
            ("define('P','/etc/x'); unlink(P);", "delete /etc/x"),
            ("readfile('php://filter/read=x/resource=/etc/passwd');", "read /etc/passwd"),
            ("foreach (['/etc/x','b'] as $f) { unlink($f); }", "delete /etc/x; delete b"),
            ("foreach (['a' => '/etc/x'] as $k => $v) { unlink($v); }", "delete /etc/x"),
            ("eval('unlink(\"/etc/x\");');", "delete /etc/x"),
            ("eval(base64_decode('x'));", "unknown"),
            ("$h = fopen('/etc/x','w'); fopen('a','r');", "write /etc/x; read a"),
            ("include '/etc/x.php';", "read /etc/x.php; project"),
            ("file_get_contents('http://x');", "connect"),
            ("file_put_contents(getenv('HOME').'/x','');", "write ~/x"),
            ("file_put_contents('php://stdout','x');", ""),
            ("rename('a','../b');", "delete a; write ../b"),
        ],
    );
    check(
        Language::Lua,
        &[
            ("print(1+1)", ""),
            ("-- os.remove('/etc/x')\n--[[ os.remove('/etc/y') ]] print([[os.remove('/etc/z')]])", ""),
            ("io.open('/etc/x','w'):write('x')", "write /etc/x"),
            ("local f = io.open('a'); print(f:read('*a'))", "read a"),
            ("os.remove('/et' .. 'c/x')", "delete /etc/x"),
            ("os.remove '/etc/x'", "delete /etc/x"),
            ("os['remove']('/etc/x')", "delete /etc/x"),
            ("os.execute('id'); io.popen('ls')", "sh id; sh ls"),
            (r"os.execute('\47bin\47id')", "sh /bin/id"),
            ("load('os.remove(\"/etc/x\")')()", "delete /etc/x"),
            ("load(x)()", "unknown"),
            ("loadfile('/etc/x.lua')", "read /etc/x.lua; project"),
            ("for _, f in ipairs({'/etc/x','b'}) do os.remove(f) end", "delete /etc/x; delete b"),
            ("local t = {p = '/etc/x'}; os.remove(t.p)", "delete /etc/x"),
            ("io.open(os.getenv('HOME') .. '/x', 'w')", "write ~/x"),
            ("os.remove(string.char(47) .. 'etc')", "delete /etc"),
            ("require('socket')", "connect"),
        ],
    );
    check(
        Language::Other,
        &[
            ("puts [expr 1+1]", ""),
            ("set f \"/etc/x\"", "write /etc/x"),
            ("exec id", "unknown"),
            ("file delete a", "unknown"),
        ],
    );
}

const LANGUAGES: [Language; 7] = [
    Language::Python,
    Language::Node,
    Language::Perl,
    Language::Ruby,
    Language::Php,
    Language::Lua,
    Language::Other,
];

#[test]
#[expect(clippy::disallowed_methods, reason = "measures time")]
fn hostile_programs_are_scanned_in_time() {
    let long = [
        "(".repeat(100_000),
        "a=".repeat(50_000),
        "a=a+b;b=a+b;".repeat(8_000),
        "x='a'*60;".to_owned() + &"x=x+x\n".repeat(10_000),
        "f'{".repeat(5_000),
        "(/[".repeat(30_000),
        "< ".repeat(50_000),
        "<<E\n".repeat(20_000),
        "[x for x in ".repeat(8_000),
        "d={'a':'/etc/x'};".repeat(6_000),
        format!("l=[{}];{}", "'/etc/abc',".repeat(200), "for x in l: open(x,'w')\n".repeat(3_000)),
        "if ".repeat(30_000),
        "a.b.c.".repeat(15_000),
        "print print > \"a\" | ".repeat(5_000),
        "x | getline ".repeat(8_000),
        "s/a/b/;{".repeat(10_000),
        "%w[".repeat(20_000),
        r"'\'".repeat(20_000),
        "[=".repeat(50_000),
        "my ".repeat(30_000),
        "lambda x: ".repeat(10_000),
    ];
    for code in &long {
        let code = code.get(..100_000).unwrap_or(code);
        let shown = code.get(..40).unwrap_or(code);
        for language in LANGUAGES {
            let start = std::time::Instant::now();
            scan(language, code);
            let took = start.elapsed().as_millis();
            assert!(took < 10_000, "{language:?} {took} ms: {shown}");
        }
        let start = std::time::Instant::now();
        awk(code);
        sed(code);
        let took = start.elapsed().as_millis();
        assert!(took < 10_000, "{took} ms: {shown}");
    }
}

#[test]
fn a_program_cut_anywhere_is_scanned_without_a_panic() {
    let programs = [
        "import os; open(f'{a[0]}/x','w'); os.system(\"é\"); exec('''x''')",
        "const {a: b} = require('fs'); `x${b}`.replace(/[/]/g, () => 1); a?.b?.[c]",
        "open my $f, '>', \"$ENV{HOME}/@{[1]}\"; s{a}{b}e; qw(a b); <<E;\nx\nE\n",
        "%w[a b].each { |x| `#{x}` }; send :a, <<~E\n x\nE\n",
        "<?php foreach ($a as $k => $v) { echo \"{$v['x']}\"; } ?>",
        "local t = {[1]=2, a='b'}; for k, v in pairs(t) do print(k .. v) end --[[ x ]]",
        "/[^/]x/,+2{s,a,b,w f\n};y/a/b/;a\\\nfoo",
        "BEGIN{while((\"ls\"|getline x)>0)print x>\"a\" NR;ARGV[1]=sprintf(\"%d\",1)}",
    ];
    for program in programs {
        for (cut, _) in program.char_indices() {
            let (start, end) = program.split_at(cut);
            for part in [start, end] {
                for language in LANGUAGES {
                    scan(language, part);
                }
                awk(part);
                sed(part);
            }
        }
    }
}

#[test]
fn a_call_with_more_arguments_than_are_told_apart_is_unknown() {
    let many = |count: usize| "1, ".repeat(count);
    for (language, code) in [
        (Language::Python, format!("import subprocess; subprocess.run({}shell=True, args='x')", many(300))),
        (Language::Python, format!("print({}2)", many(256))),
        (Language::Node, format!("f({}'/etc/x')", many(300))),
        (Language::Ruby, format!("puts {}2", many(300))),
    ] {
        assert!(deeds_of(language, &code).contains("unknown"), "{language:?}");
    }
    for (language, code) in [
        (Language::Python, format!("print({}2)", many(255))),
        (Language::Python, format!("x = [{}2]", many(3_000))),
        (Language::Ruby, format!("puts {}2", many(200))),
    ] {
        assert_eq!(deeds_of(language, &code), "", "{language:?}");
    }
}
