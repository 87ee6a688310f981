//! What reading one command costs, over commands as agents write them.

#![expect(
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "a benchmark looks at the clock and tells"
)]

use std::hint::black_box;
use std::time::Instant;

use toolgate_shell::parse;

const COMMANDS: &[&str] = &[
    "ls -la",
    "git status --short",
    "cat src/main.rs",
    "cargo test -p core 2>&1 | tail -20",
    "cd /work/project && npm run build",
    "grep -rn \"fn main\" --include='*.rs' src | head -5",
    "find . -name '*.py' -not -path './node_modules/*' | xargs wc -l | sort -n",
    "git add -A && git commit -m \"fix: handle empty input\" && git push origin HEAD",
    "for f in src/*.ts; do echo \"== $f\"; sed -n '1,20p' \"$f\"; done",
    "if [ -f package.json ]; then npm ci; else echo 'no package.json'; fi",
    "python3 -c 'import json,sys; print(json.load(sys.stdin)[\"version\"])' < package.json",
    "export PATH=\"$HOME/.local/bin:$PATH\" && which rustc",
    "docker run --rm -v \"$(pwd)\":/app -w /app node:22 npm test",
    "curl -sSL https://example.org/api/items?page=2 | jq '.items[] | {id, name}'",
    "sed -i 's/foo/bar/g' config/*.yaml && git diff --stat",
    "mkdir -p build/{debug,release} && cmake -S . -B build/debug -DCMAKE_BUILD_TYPE=Debug",
    "rm -rf target/tmp && cp -r fixtures target/tmp",
    "tail -f /var/log/app.log | grep --line-buffered ERROR &",
    "cat > notes.md <<'EOF'\n# Notes\n\nIt's a file with (parentheses), `backticks` and $dollars.\nEOF",
    "git commit -m \"$(cat <<'EOF'\nAdd the parser\n\nIt reads what bash reads (all of it).\nEOF\n)\"",
    "cat <<EOF > .env\nHOME=$HOME\nDATE=$(date +%F)\nEOF",
    "while read -r line; do echo \"${line%%:*}\"; done < /etc/passwd",
    "test -d .venv || python3 -m venv .venv; . .venv/bin/activate; pip install -r requirements.txt",
    "kubectl get pods -n staging -o json | jq -r '.items[].metadata.name' | grep -v web",
    "ps aux | awk '$3 > 10.0 {print $2, $11}' | sort -k2",
    "find . -type f -size +10M -exec ls -lh {} \\; 2>/dev/null",
    "tar czf \"backup-$(date +%Y%m%d).tar.gz\" --exclude=.git .",
    "ssh build@host 'cd /srv && ./deploy.sh --dry-run'",
    "npx tsc --noEmit && npx eslint 'src/**/*.{ts,tsx}' --max-warnings 0",
    "RUST_LOG=debug cargo run --release -- --input data.csv > out.txt 2> err.txt",
    "echo $((1024 * 1024)) ${BASH_VERSION:-none} ${#PATH}",
    "case \"$(uname -s)\" in Linux*) echo linux;; Darwin*) echo mac;; *) exit 1;; esac",
    "[[ -n \"$CI\" && \"$BRANCH\" =~ ^release/[0-9]+ ]] && echo release",
    "go test ./... -run 'TestParse|TestWalk' -count=1 -v",
    "git log --oneline -10 --format='%h %s' -- src/",
    "pytest -x tests/test_api.py::test_login -q --no-header 2>&1 | tail -30",
    "psql \"$DATABASE_URL\" -c \"select count(*) from users where created_at > now() - interval '1 day'\"",
    "sleep 2; pgrep -f 'node server.js' && kill \"$(pgrep -f 'node server.js')\"",
    "diff <(sort a.txt) <(sort b.txt) || true",
    "arr=(one two three); for i in \"${!arr[@]}\"; do printf '%s=%s\\n' \"$i\" \"${arr[$i]}\"; done",
];

fn main() {
    let rounds = if std::env::args().any(|argument| argument == "--test") { 1 } else { 2_000 };
    let mut times: Vec<u128> = Vec::with_capacity(rounds * COMMANDS.len());
    for _ in 0..rounds {
        for command in COMMANDS {
            let start = Instant::now();
            let parsed = black_box(parse(black_box(command)));
            times.push(start.elapsed().as_nanos());
            assert!(parsed.error.is_none(), "{command}");
        }
    }
    times.sort_unstable();
    let at = |share: usize| times.get((times.len() - 1) * share / 100).copied().unwrap_or(0);
    let mean = times.iter().sum::<u128>() / times.len().max(1) as u128;
    let bytes = COMMANDS.iter().map(|command| command.len()).sum::<usize>() / COMMANDS.len();
    println!(
        "{} commands of {bytes} bytes: p50 {} ns, mean {mean} ns, p99 {} ns",
        COMMANDS.len(),
        at(50),
        at(99)
    );
}
