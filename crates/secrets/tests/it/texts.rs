//! Texts as tools print them: what goes, and what stays.

use toolgate_secrets::{Emails, Marks, Rules, scrub, scrub_json};

fn scrubbed(text: &str) -> String {
    match scrub(text.as_bytes(), &Rules::default(), Marks::Plain) {
        Some(scrubbed) => String::from_utf8_lossy(&scrubbed.text).into_owned(),
        None => text.to_owned(),
    }
}

#[test]
fn secrets_in_printed_texts_are_redacted() {
    let mut wrong = Vec::new();
    for (text, wanted) in [
        ("DB_PASSWORD=hunter2", "DB_PASSWORD=[PASSWORD REDACTED]"),
        ("export API_SECRET=\"correct horse\"", "export API_SECRET=\"[SECRET REDACTED]\""),
        ("DB_PASSWORD=hunter2\0NEXT={1}\0", "DB_PASSWORD=[PASSWORD REDACTED]\0NEXT={1}\0"),
        ("DB_PASSWORD=!Xy7#pq9Lm", "DB_PASSWORD=[PASSWORD REDACTED]"),
        ("DB_PASSWORD=$Xy7#pq9Lm", "DB_PASSWORD=[PASSWORD REDACTED]"),
        ("DB_PASSWORD=a[b]c9#Qw!", "DB_PASSWORD=[PASSWORD REDACTED]"),
        ("docker run -e DB_PASSWORD=s3cr3t app", "docker run -e DB_PASSWORD=[PASSWORD REDACTED] app"),
        (
            "\"Env\": [\"DB_PASSWORD=hunter2\", \"A=b\"]",
            "\"Env\": [\"DB_PASSWORD=[PASSWORD REDACTED]\", \"A=b\"]",
        ),
        ("  password: hunter2\n", "  password: [PASSWORD REDACTED]\n"),
        ("password:hunter2\n", "password:[PASSWORD REDACTED]\n"),
        ("Server=db;User=a;Pwd=hunter2x;", "Server=db;User=a;Pwd=[PASSWORD REDACTED];"),
        ("\"password\": \"Tr0ub4dor&3\"", "\"password\": \"[PASSWORD REDACTED]\""),
        (
            "{\"name\": \"DB_PASSWORD\", \"value\": \"hunter2\"}",
            "{\"name\": \"DB_PASSWORD\", \"value\": \"[PASSWORD REDACTED]\"}",
        ),
        ("- name: DB_PASSWORD\n  value: hunter2\n", "- name: DB_PASSWORD\n  value: [PASSWORD REDACTED]\n"),
        (
            "<add key=\"DB_PASSWORD\" value=\"hunter2\"/>",
            "<add key=\"DB_PASSWORD\" value=\"[PASSWORD REDACTED]\"/>",
        ),
        ("const apiKey = \"q8Zr1LmW0xTfB6uYc3Vd\";", "const apiKey = \"[SECRET REDACTED]\";"),
        ("let token: &str = \"q8Zr1LmW0xTfB6uYc3Vd\";", "let token: &str = \"[SECRET REDACTED]\";"),
        ("Authorization: Bearer abc123def456", "Authorization: Bearer [AUTHORIZATION REDACTED]"),
        ("authorization: Basic dXNlcjpwYXNz", "authorization: Basic [AUTHORIZATION REDACTED]"),
        (
            "> curl -H 'Authorization: token 12ab34cd56'",
            "> curl -H 'Authorization: token [AUTHORIZATION REDACTED]'",
        ),
        ("postgres://app:h4nter2@db.corp/main", "postgres://app:[PASSWORD REDACTED]@db.corp/main"),
        // Nobody makes up a random password for a manual, whatever its host is called.
        ("redis://:q8Zr1LmW0xTfB6uYc3Vd@host:6379", "redis://:[PASSWORD REDACTED]@host:6379"),
        // A plan shows what was and what will be.
        (
            "  ~ db_password = \"q8Zr1LmW0xTf\" -> \"B6uYc3Vd0a1X\"",
            "  ~ db_password = \"[PASSWORD REDACTED]\" -> \"[PASSWORD REDACTED]\"",
        ),
        (
            "\"db_password\": {\n  \"sensitive\": true,\n  \"value\": \"q8Zr1LmW0xTf\"\n}",
            "\"db_password\": {\n  \"sensitive\": true,\n  \"value\": \"[PASSWORD REDACTED]\"\n}",
        ),
        ("mysql -u root -pq8Zr1LmW0x shop", "mysql -u root -p[PASSWORD REDACTED] shop"),
        ("mysqldump -p'q8Zr1LmW0x' shop", "mysqldump -p'[PASSWORD REDACTED]' shop"),
        (
            "NAME   TOKEN                 AGE\na      q8Zr1LmW0xTfB6uYc3Vd  3d\nb      none                  1d\n",
            "NAME   TOKEN                 AGE\na      [SECRET REDACTED]  3d\nb      none                  1d\n",
        ),
        ("USER  API_KEY\na     q8Zr1LmW0xTfB6uYc3Vd\n", "USER  API_KEY\na     [SECRET REDACTED]\n"),
        ("redis://:myp4ssw0rd@cache:6379", "redis://:[PASSWORD REDACTED]@cache:6379"),
        ("mongodb%3A%2F%2Fapp%3Ah4nter2%40db.corp", "mongodb%3A%2F%2Fapp%3A[PASSWORD REDACTED]%40db.corp"),
        (
            "tok = os.getenv('API_TOKEN', 'q8zr1lmw0xtfb6uyc3vd')",
            "tok = os.getenv('API_TOKEN', '[SECRET REDACTED]')",
        ),
        ("var apiToken string = \"q8zr1lmw0xtfb6uyc3vd\"", "var apiToken string = \"[SECRET REDACTED]\""),
        (
            "c { api_token: Some(\"q8zr1lmw0xtfb6uyc3vd\"), n: 1 }",
            "c { api_token: Some(\"[SECRET REDACTED]\"), n: 1 }",
        ),
        ("API_TOKEN ::= \"q8zr1lmw0xtfb6uyc3vd\"", "API_TOKEN ::= \"[SECRET REDACTED]\""),
        ("x: {api_token: q8zr1lmw0xtfb6uyc3vd, port: 1}", "x: {api_token: [SECRET REDACTED], port: 1}"),
        ("api_token: |\n    q8zr1lmw0xtfb6uyc3vd\n", "api_token: |\n    [SECRET REDACTED]\n"),
        ("<apiToken>\n  q8zr1lmw0xtfb6uyc3vd\n</apiToken>", "<apiToken>\n  [SECRET REDACTED]\n</apiToken>"),
        (
            "<key>apiToken</key>\n<string>q8zr1lmw0xtfb6uyc3vd</string>",
            "<key>apiToken</key>\n<string>[SECRET REDACTED]</string>",
        ),
        ("n,api_token,x\np,q8zr1lmw0xtfb6uyc3vd,1\n", "n,api_token,x\np,[SECRET REDACTED],1\n"),
        ("CREATE USER a IDENTIFIED BY 'hunter2x';", "CREATE USER a IDENTIFIED BY '[PASSWORD REDACTED]';"),
        ("curl -u bob:hunter2x https://a.io", "curl -u bob:[PASSWORD REDACTED] https://a.io"),
        ("Cookie: sid=q8zr1lmw0xtfb6uyc3vd; theme=dark", "Cookie: sid=[SECRET REDACTED]; theme=dark"),
        ("db.acme.io:5432:app:bob:hunter2x", "db.acme.io:5432:app:bob:[PASSWORD REDACTED]"),
        ("Authorization: ApiToken q8zr1lmw0xtfb6uyc3vd", "Authorization: ApiToken [AUTHORIZATION REDACTED]"),
        (
            "https://5d1471606feeeb1815581287adcbae81cd361ae5@github.com/a",
            "https://[PASSWORD REDACTED]@github.com/a",
        ),
        (
            "A_TOKEN=q8zr1lmw0xtfb6uyc3vd\nusing q8zr1lmw0xtfb6uyc3vd",
            "A_TOKEN=[SECRET REDACTED]\nusing [SECRET REDACTED]",
        ),
        ("acme_pat_q8zr1lmw0xtfb6uyc3vd", "[TOKEN REDACTED]"),
        ("Author: Jane Doe <jane.doe+x@corp.co.uk>", "Author: Jane Doe <[EMAIL REDACTED]>"),
        ("jane@example.com.evil.io", "[EMAIL REDACTED]"),
        ("jane@badexample.com", "[EMAIL REDACTED]"),
        ("mail jane@163.com, or joe@a.b.io.", "mail [EMAIL REDACTED], or [EMAIL REDACTED]."),
        ("{\"a\":\"x\\njane@corp.io\"}", "{\"a\":\"x\\n[EMAIL REDACTED]\"}"),
    ] {
        let got = scrubbed(text);
        if got != wanted {
            wrong.push(format!("{text:?}\n   gives {got:?}\n  wanted {wanted:?}"));
        }
    }
    assert!(wrong.is_empty(), "{} wrong\n{}", wrong.len(), wrong.join("\n"));
}

/// Values that no generator of random letters made, in places that leave no doubt.
#[test]
fn forms_that_other_tools_write_are_redacted() {
    let noise = "m{{h}o)p${e]nob(ody[finds>-_$#thisone}}";
    let mut wrong = Vec::new();
    for (text, wanted) in [
        // Blanks between the quotes are not part of the value.
        ("api_token: \" q8Zr1LmW0xTfB6uYc3Vd \"", "api_token: \" [SECRET REDACTED] \"".to_owned()),
        ("-Domain 'x' -Password 'q8Zr43ss@!'", "-Domain 'x' -Password '[PASSWORD REDACTED]'".to_owned()),
        ("ID:master,PWD:q8Zr112Gg!", "ID:master,PWD:[PASSWORD REDACTED]".to_owned()),
        (
            "variable \"db_password\" {\n  type    = string\n  default = \"q8Zr1LmW0xTf\"\n}",
            "variable \"db_password\" {\n  type    = string\n  default = \"[PASSWORD REDACTED]\"\n}"
                .to_owned(),
        ),
        (
            "c.Credentials = new NetworkCredential(\"bob\", \"q8Zr1LmW0xTf\");",
            "c.Credentials = new NetworkCredential(\"bob\", \"[PASSWORD REDACTED]\");".to_owned(),
        ),
        (
            "requests.get(u, auth=HTTPBasicAuth('bob', 'q8Zr1#LmW'))",
            "requests.get(u, auth=HTTPBasicAuth('bob', '[PASSWORD REDACTED]'))".to_owned(),
        ),
        (
            "curl https://a.io/x \\\n-u bob:q8Zr1LmW0xTf",
            "curl https://a.io/x \\\n-u bob:[PASSWORD REDACTED]".to_owned(),
        ),
        (
            "mongodb://reader:Qv8h2Lp4Rk7m@db.example.net/app",
            "mongodb://reader:[PASSWORD REDACTED]@db.example.net/app".to_owned(),
        ),
        ("activation key: ZA7WS-XC2ER-VB9TR-FR1GU", "activation key: [SECRET REDACTED]".to_owned()),
        (
            "mailgun_token: key-0b14eda69dc39c501421df3d870398f0",
            "mailgun_token: [MAILGUN_KEY REDACTED]".to_owned(),
        ),
        (&format!("db_pass: {noise}"), "db_pass: [PASSWORD REDACTED]".to_owned()),
        (
            &format!("if (password == \"{noise}\") {{"),
            "if (password == \"[PASSWORD REDACTED]\") {".to_owned(),
        ),
        (
            &format!("if (\"{noise}\" == password) {{"),
            "if (\"[PASSWORD REDACTED]\" == password) {".to_owned(),
        ),
        (&format!("if (\"{noise}\" != secret) {{"), "if (\"[SECRET REDACTED]\" != secret) {".to_owned()),
        (
            &format!("my_password_old_one = \"{noise}\""),
            "my_password_old_one = \"[SECRET REDACTED]\"".to_owned(),
        ),
        // The same token twice without anything between, and a key with the next word glued to it.
        (&format!("npm_{0}npm_{0}", "a1B2".repeat(9)), "[NPM_TOKEN REDACTED][NPM_TOKEN REDACTED]".to_owned()),
        (
            &format!("AccountKey={}==AZURE_NAME", "q8Zr1LmW0xTf".repeat(8).split_at(86).0),
            "AccountKey=[AZURE_KEY REDACTED]AZURE_NAME".to_owned(),
        ),
        (
            &format!("url/hf_{}/part", "HqLwCKgzdQrvPu".repeat(3).split_at(34).0),
            "url/[HUGGINGFACE_TOKEN REDACTED]/part".to_owned(),
        ),
    ] {
        let given = scrubbed(text);
        if given != wanted {
            wrong.push(format!("{text}\n   gives {given}\n  wanted {wanted}"));
        }
    }
    assert!(wrong.is_empty(), "{} wrong\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn what_is_nobodys_by_its_own_words_is_unchanged() {
    let head = "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9";
    let said = "eyJzdWIiOiIxMjM0NTY3ODkwIiwibmFtZSI6IkpvaG4gRG9lIn0";
    for text in [
        "nonMatchingToken := \"task_test_86zroqsodmm9ntubi1zh50tpidogwa\"".to_owned(),
        "bedrock-api-key-YmVkcm9jay5hbWF6b25hd3MuY29x".to_owned(),
        "SALESFORCE_ACCESS_TOKEN=00DE0X0A0M0PeLE!short".to_owned(),
        "PWD=/home/u1/src OLDPWD=/tmp/a1b2c3d4".to_owned(),
        "lsv2_pt_q8Zr1LmW0xTfB6uYc3Vd_invalid".to_owned(),
        // Its head is not JSON, and what it says is.
        format!("{}.{said}.SflKxwRJSMeKKF2QT4fwpMeJf36POk6yJV", head.replace("GciO", "GcasO")),
        "if (\"a\" == token) { token = next(); }".to_owned(),
        "app.run(\"0.0.0.0\"); new NetworkCredential(user, password)".to_owned(),
        "const {href:n,origin:o,username:I,password:D,hostname:m}=s;this[r]={uri:n}".to_owned(),
        "{encryptionKey:raw.encryptionKey,node:Object.assign(Object.create(null),r.n)}".to_owned(),
    ] {
        assert_eq!(scrubbed(&text), text);
    }
    assert_eq!(scrubbed(&format!("{head}.{said}")), "[JWT REDACTED]");
}

#[test]
fn secrets_in_telling_places_are_redacted() {
    let texts = [
        ("ENV DB_PASSWORD Kq7zt2mPx9", "ENV DB_PASSWORD [PASSWORD REDACTED]"),
        (
            "machine h.io\n  login bob\n  password Kq7zt2mPx9\n",
            "machine h.io\n  login bob\n  password [PASSWORD REDACTED]\n",
        ),
        ("*:*:*:bob:Kq7zt2mPx9", "*:*:*:bob:[PASSWORD REDACTED]"),
        ("curl -ubob:Kq7zt2mPx9 https://a.io", "curl -ubob:[PASSWORD REDACTED] https://a.io"),
        ("id,password,port\n1,hunter2x,80\n", "id,password,port\n1,[PASSWORD REDACTED],80\n"),
        (
            " id | password   | port\n----+------------+------\n  1 | sunny!Day  |   80\n",
            " id | password   | port\n----+------------+------\n  1 | [PASSWORD REDACTED]  |   80\n",
        ),
        (
            "Authorization: Token token=\"Kq7zt2mPx9w\"",
            "Authorization: Token token=\"[AUTHORIZATION REDACTED]\"",
        ),
        (
            "Authorization: Digest username=\"bob\", response=\"6629fae49393a05397450978507c4ef1\", opaque=\"5c\"",
            "Authorization: Digest username=\"bob\", response=\"[AUTHORIZATION REDACTED]\", opaque=\"5c\"",
        ),
        ("apiToken: 8f3ac10b9d72e456", "apiToken: [SECRET REDACTED]"),
        ("mysql -u root --password hunter2x", "mysql -u root --password [PASSWORD REDACTED]"),
        ("db_pass = \"m{{h}o)p${e]nob(ody[fi>-_$#e}}\"", "db_pass = \"[PASSWORD REDACTED]\""),
    ];
    let wrong: Vec<_> = texts.into_iter().filter(|(text, wanted)| scrubbed(text) != *wanted).collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn secrets_in_utf_16_are_redacted_and_the_rest_stays_readable() {
    let text = "\u{feff}[db]\r\nDB_PASSWORD=q8Zr1LmW0xTf\r\nname=caf\u{e9}\r\n";
    let wanted = text.replace("q8Zr1LmW0xTf", "[PASSWORD REDACTED]");
    for encode in [u16::to_le_bytes, u16::to_be_bytes] {
        let wide = |text: &str| text.encode_utf16().flat_map(encode).collect::<Vec<u8>>();
        let scrubbed = scrub(&wide(text), &Rules::default(), Marks::Plain).unwrap();
        assert_eq!((scrubbed.text, scrubbed.count), (wide(&wanted), 1));
        assert_eq!(scrub(&wide(&wanted), &Rules::default(), Marks::Plain), None);
    }
}

#[test]
fn ordinary_text_is_unchanged() {
    let mut wrong = Vec::new();
    for text in [
        // Code.
        "let token = self.next_token()?;",
        // Numbered lines are no table.
        "    17\t-----END PRIVATE KEY-----\n    18\t$ ls -la\n    19\tMakefile2\n",
        "    17\tpassword\n    18\tcheck hunter2x\n",
        "token = token2",
        "password: string;",
        "password = getpass.getpass()",
        "const TOKEN: &str = concat!(\"a\", \"b\");",
        "if password == other.password {",
        "U_UNEXPECTED_TOKEN=0x10100,",
        "SQL_COPT_SS_ACCESS_TOKEN = 1256",
        "ERROR_WRONG_PASSWORD: Final = 1323",
        "CHARS_PER_TOKEN=4;function x(){}",
        "A[\"INVALID_HEADER_TOKEN\"]=10]=\"X\"",
        "{\"MYSQL_PWD\": password}",
        "AWS_SESSION_TOKEN: creds.Token",
        "ERRORTOKEN: TokenType = native_token_type.ERRORTOKEN",
        "PULP_PASSWORD=pulp_password",
        "X_AWS_EC2_METADATA_TOKEN=\"x-aws-ec2-metadata-token\"",
        "TOKEN: Final = r\"[!#$%&'*+]{1,}\"",
        "RegEnumKey = win32api.RegEnumKey",
        "unitKey=\"heightOfGeoidAboveWGS84Units\"",
        "opts.headers.Authorization = r3.headers.Authorization;",
        "pub Authorization: WINBIO_PRESENCE_0,",
        "login(user, password=pass1)",
        "expect(password: \"test\").toBe(1)",
        "RESET_PASSWORD = '/v1/accounts:resetPassword'",
        "TOKEN = \"/v1/token\",",
        "private_key: Ed25519PrivateKey",
        "arn:aws:secretsmanager:us-west-2:123456789012:secret:MyTestDatabaseSecret-a1b2c3",
        "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
        "resources are identified by their names",
        "docker run -u 1000:1000 app",
        // References and placeholders.
        "{params:{...f,progressToken:p[1]})=>{x(y?.z&&w||v)};if(!a){b=c[d]}}}",
        "o=y.map(d=>({name:d.name,pass:d.ok?1:0}));c=Math.abs(r);o=g[3].map(d=>({n:d}))",
        "API_TOKEN=too_short",
        "SERVICE_KEY=lsv2_sk_short",
        "API_KEY=\"glc_111111111111111111111111111111111111111111=\"",
        "https://acme.site/API-BD80F56CDC1441E6BF6011AB6D852875",
        "password: {{ vault.read(\"a\")[0] }}",
        "PASSWORD=${DB_PASSWORD:-$(cat x)}",
        "arn:aws:logs:*:*:log-group:app7web",
        "ENV PATH_KEY /usr/local/bin",
        "n,password,x\na,none,1\nb,yes,2\nc,********,3\n",
        "curl -uri https://a.io:8080/x1",
        "API_KEY=apikey_00000000000000000000000000000000",
        "SECRET_KEY=AbCdEfGhIjKlMnOpQrStUvWxYz123456",
        "DB_PASSWORD=${DB_PASSWORD}",
        "password: ${{ secrets.PASSWORD }}",
        "export API_KEY=<your key>",
        "ANTHROPIC_API_KEY=sk-ant-...",
        "SLACK_TOKEN=xoxb-xxx",
        "API_KEY=changeme",
        "TOKEN=$(gh auth token)",
        "SECRET_FILE=/run/secrets/db",
        "PWD=/home/someone/src/app2",
        "Authorization: Bearer $TOKEN",
        "postgres://user:password@localhost/db",
        "postgres://postgres:postgres@localhost:5432/app",
        "http://evil:thing9@example.com",
        // Hashes, ids, lock files.
        "commit 5a1f0f3c1f7c3a5b9d2e4f60718293a4b5c6d7e8",
        "checksum = \"e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855\"",
        "\"integrity\": \"sha512-z1QzZl3hZ2m5Y2FkZmVmZ2hpamtsbW5vcHFyc3R1dnd4eXoxMjM0NTY3ODkwYWJjZGVmZ2hpamtsbW5vcA==\"",
        "cache_key: d41d8cd98f00b204e9800998ecf8427e",
        "\"LockToken\": \"447e55ac-2396-4c6d-b9f9-86b67c17f8b5\"",
        "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
        "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIKb8mPq3Zt0u7W5xYv1n2Qh6Lr9Jd4Sf8Gk1Tc3VbNzX",
        "publicKey: \"MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE1Qw2Er3Ty4Ui5Op6As7Df8Gh9Jk0\"",
        "path,sha256=qaN-fw_htIgKUVXoAuAEVgKxQu3tZ9qE2eiKkWIS7LA,160",
        // Addresses that are nobody's, and what only looks like one.
        "git@github.com:foo/bar.git",
        "ssh://git@gitlab.com/foo/bar",
        "jane@example.com",
        "noreply@github.com",
        "41898282+github-actions[bot]@users.noreply.github.com",
        "react@18.2.0, @types/node@20.1.0-rc.1",
        "logo@2x.png",
        "getty@tty1.service",
        "a@b",
        "@app.route(\"/\")",
        "x = A@B.shape",
    ] {
        let got = scrubbed(text);
        if got != text {
            wrong.push(format!("{text:?}\n   gives {got:?}"));
        }
    }
    assert!(wrong.is_empty(), "{} wrong\n{}", wrong.len(), wrong.join("\n"));
}

/// In JSON every string has a name. One that is not credential-like says nothing about its value.
#[test]
fn random_looking_members_of_ordinary_names_are_unchanged() {
    let values = [
        "mm4tz9kxw2rhp7bqn5vj",
        "k8s-node-7f9b4d6c85-x2x4z",
        "/tmp/pytest-of-root/x9K2mQ7vR4tB8nL1zW5c",
        "sha512-z1QzZl3hZ2m5Y2FkZmVmZ2hpamtsbW5vcHFyc3R1dnd4eXoxMjM0NTY3ODkwYWJjZGVmZ2hpamtsbW5vcA==",
        "5d1471606feeeb1815581287adcbae81cd361ae5",
        "q8Zr1LmW0xTfB6uYc3Vd",
    ];
    let changed = |name: &str, value: &str| {
        scrub_json(&serde_json::json!({ name: value }).to_string(), &Rules::default(), Marks::Plain).is_some()
    };
    for name in
        ["x", "stdout", "content", "text", "id", "name", "value", "podName", "integrity", "nodes", "path", ""]
    {
        for value in values {
            assert!(!changed(name, value), "{name}: {value}");
        }
    }
    for name in ["token", "api_key", "clientSecret", "pw", "githubAuth", "session_credential", "KEY"] {
        assert!(changed(name, "q8Zr1LmW0xTfB6uYc3Vd"), "{name}");
    }
}

#[test]
fn settings_say_which_addresses_are_redacted() {
    let count = |text: &str, emails, safe: &[&str]| {
        let safe_emails = safe.iter().map(|safe| (*safe).to_owned()).collect();
        let rules = Rules { emails, safe_emails, ..Rules::default() };
        scrub(text.as_bytes(), &rules, Marks::Plain).map_or(0, |scrubbed| scrubbed.count)
    };
    assert_eq!(count("jane@example.com", Emails::All, &[]), 1);
    assert_eq!(count("jane@example.com", Emails::Unlisted, &[]), 0);
    assert_eq!(count("jane@corp.com", Emails::None, &[]), 0);
    assert_eq!(count("jane@corp.com", Emails::Unlisted, &["@corp.com"]), 0);
    assert_eq!(count("jane@corp.com.evil.io", Emails::Unlisted, &["@corp.com"]), 1);
    assert_eq!(count("Jane@Corp.com", Emails::Unlisted, &["jane@corp.com"]), 0);
    assert_eq!(count("joe@corp.com", Emails::Unlisted, &["jane@corp.com"]), 1);
}

/// A token at any place, whatever stands around: the search looks at every second byte.
#[test]
fn a_token_is_redacted_at_every_offset() {
    let tokens = [
        concat!("gh", "p_0a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R"),
        concat!("AK", "IA2B3C4D5E6F7G8H9J"),
        concat!("xo", "xb-123456789012-abcDEF"),
    ];
    for token in tokens {
        for before in 0..40 {
            for after in ["", " ", "\n", "\"", ",", "é", "\u{1b}[0m", "日本"] {
                for sign in [" ", "=", "\"", "é", "\u{1b}[31m", "\\n", "\0"] {
                    let text = format!("{}{sign}{token}{after}", "x".repeat(before));
                    assert!(!scrubbed(&text).contains(token), "{text:?}");
                }
            }
        }
    }
}

/// Running out of time to look at values that lie in values hides what is called secret; it does not show it.
#[test]
fn what_cannot_be_looked_at_any_more_is_hidden() {
    for before in ["key=".repeat(200_000), "a=b/key=b/".repeat(100_000), "key=".repeat(200)] {
        let text = format!("{before}\nDB_PASSWORD=hunter2x\n");
        assert!(!scrubbed(&text).contains("hunter2x"), "{} bytes", before.len());
    }
}

/// A value is hidden to its end, however long it is.
#[test]
fn long_values_are_hidden_whole() {
    for times in [30, 300, 3_000] {
        let value = "q8Zr1LmW0xTfB6uYc3Vd".repeat(times);
        for text in [format!("API_TOKEN={value}"), format!("{{\"api_token\": \"{value}\"}}")] {
            assert!(!scrubbed(&text).contains("q8Zr1LmW0xTfB6uYc3Vd"), "{times}");
        }
    }
}

/// A line without an end is passed on when its writer pauses.
#[test]
fn an_open_line_is_said_when_nothing_comes() {
    let rules = Rules::default();
    let mut stream = toolgate_secrets::Stream::new(&rules, Marks::Plain);
    let mut out = Vec::new();
    stream.push(b"Password: ", &mut out);
    stream.pause(&mut out);
    assert_eq!(out, b"Password: ");
    stream.push(b"hunter2x9Q then more..", &mut out);
    stream.pause(&mut out);
    stream.finish(&mut out);
    assert_eq!(String::from_utf8_lossy(&out), "Password: [PASSWORD REDACTED] then more..");
    let mut stream = toolgate_secrets::Stream::new(&rules, Marks::Plain);
    let mut out = Vec::new();
    stream.push(b"DB_PASSWORD=hunt", &mut out);
    stream.pause(&mut out);
    stream.push(b"er2x9Q\n", &mut out);
    stream.finish(&mut out);
    assert_eq!(String::from_utf8_lossy(&out), "DB_PASSWORD=[PASSWORD REDACTED]\n");
}

/// What stands in dashes, names a key without holding one or is long is no reason to keep a text back; what may become a key is.
#[test]
fn only_what_may_become_a_key_is_held_back() {
    let rules = Rules::default();
    let said = |pieces: &[&str]| {
        let mut stream = toolgate_secrets::Stream::new(&rules, Marks::Plain);
        let (mut out, mut by_now) = (Vec::new(), Vec::new());
        for piece in pieces {
            stream.push(piece.as_bytes(), &mut out);
            stream.pause(&mut out);
            by_now.clone_from(&out);
        }
        stream.finish(&mut out);
        [by_now, out].map(|text| String::from_utf8_lossy(&text).into_owned())
    };
    for text in [
        "----- building -----.....",
        "----------------------------------------",
        "reads the PRIVATE KEY of the host, and goes on.. ",
        "-----BEGIN CERTIFICATE----- is how it begins.. ",
    ] {
        assert_eq!(said(&[text])[0], text);
    }
    let many =
        format!("-----BEGIN PRIVATE {}-----\n{}...", "KEY", "a line of a log, not of a key\n".repeat(20));
    assert_eq!(said(&[&many])[0], many);
    let line = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7Vq8mR2tZ9xKw";
    let [begin, end] = ["BEGIN", "END"].map(|word| format!("-----{word} PRIVATE {}-----", "KEY"));
    let newline = format!("{line}\n");
    for pieces in [
        vec!["key: ", &begin, "\n", &newline, &newline, &end, "\nbye\n"],
        vec!["key:\n", &newline, &newline, &end, "\nbye\n"],
        vec!["key: ", &begin, "\n", &line[..20], &line[20..], "\n", &end, "\nbye\n"],
    ] {
        let [_, all] = said(&pieces);
        assert!(!all.contains("MIIE") && !all.contains(&line[20..]), "{all}");
        assert!(all.starts_with("key:") && all.ends_with("\nbye\n"), "{all}");
    }
}
