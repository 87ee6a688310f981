//! What tools print. A value stands where a name stands in « »: of a kind (`token`, `secret` …) or by its shape.

/// What stands in the place of a value where none is planted.
pub(crate) const HARMLESS: &[(&str, &str)] = &[
    ("secret", "${APP_SECRET}"),
    ("strong", "${APP_SECRET}"),
    ("email", "noreply@example.com"),
    ("pem", "-----BEGIN PUBLIC KEY-----\nMFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE\n-----END PUBLIC KEY-----"),
    (
        "escaped pem",
        "-----BEGIN PUBLIC KEY-----\\nMFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE\\n-----END PUBLIC KEY-----",
    ),
];

/// Tokens that are known wherever they stand.
pub(crate) const TOKENS: &[&str] = &[
    "ghp_<alnum*36>",
    "github_pat_<alnum*22>_<alnum*59>",
    "sk-<alnum*48>",
    "AKIA<upper*16>",
    "eyJ<alnum*33>.eyJ<alnum*60>.<url*42>x",
    "xoxb-<digit*12>-<digit*13>-<alnum*24>",
    "xoxp-<digit*12>-<digit*13>-<alnum*24>",
    "gho_<alnum*36>",
    "ghs_<alnum*36>",
    "glpat-<alnum*20>",
    "glrt-<alnum*20>",
    "sk-ant-api03-<alnum*93>AA",
    "sk-proj-<alnum*74>T3BlbkFJ<alnum*74>",
    "xapp-1-A<upper*10>-<digit*13>-<hex*64>",
    "sk_live_51<alnum*97>",
    "whsec_<alnum*32>",
    "AIza<alnum*35>",
    "GOCSPX-<alnum*28>",
    "SG.<alnum*22>.<alnum*43>",
    "npm_<alnum*36>",
    "pypi-AgEIcHlwaS5vcmc<alnum*150>",
    "rubygems_<hex*48>",
    "dckr_pat_<alnum*27>",
    "dop_v1_<hex*64>",
    "HRKU-<uuid>",
    "hf_<alnum*34>",
    "r8_<alnum*37>",
    "gsk_<alnum*52>",
    "xai-<alnum*80>",
    "sk-or-v1-<hex*64>",
    "pplx-<alnum*48>",
    "dapi<hex*32>",
    "dt0c01.<upper*24>.<upper*64>",
    "glsa_<alnum*32>_<hex*8>",
    "NRAK-<upper*27>",
    "sntryu_<hex*64>",
    "lin_api_<alnum*40>",
    "ntn_<digit*11><alnum*35>",
    "figd_<alnum*40>",
    "PMAK-<hex*24>-<hex*34>",
    "shpat_<hex*32>",
    "hvs.<alnum*95>",
    "pul-<hex*40>",
    "dp.pt.<alnum*43>",
    "nfp_<alnum*36>",
    "sbp_<hex*40>",
    "pscale_tkn_<alnum*43>",
    "tskey-auth-<alnum*12>CNTRL-<alnum*32>",
    "AGE-SECRET-KEY-1<upper*58>",
    "ATATT3xFfGF0<alnum*170>=<hex*8>",
    "bkua_<hex*40>",
    "xkeysib-<hex*64>-<alnum*16>",
    "nvapi-<alnum*64>",
    "sgp_<hex*16>_<hex*40>",
    "lsv2_pt_<hex*32>_<hex*10>",
    "<digit*10>:AA<alnum*33>",
];

pub(crate) const TEMPLATES: &[(&str, &str)] = &[
    (
        "git log",
        "commit 83db48fbf2693c4d1e0a7b5c9d8e6f1a2b3c4d5e\nAuthor: Jane <«email»>\nDate:   Sun Mar 1 10:15:00 2026 +0100\n\n    deploy: rotate «token»\n",
    ),
    (
        "git remote",
        "origin\thttps://x-access-token:«token»@github.com/acme/app.git (fetch)\nupstream\tgit@github.com:acme/app.git (fetch)\n",
    ),
    ("git diff", "-timeout: 30\n-token: old\n+timeout: 60\n+token: «token»\n"),
    (
        "API answer",
        "{\"id\": 7, \"node_id\": \"MDQ6VXNlcjE=\", \"token\": \"«token»\", \"expires_at\": \"2026-03-01T00:00:00Z\", \"email\": \"«email»\"}\n",
    ),
    (
        "compact API answer",
        "{\"data\":[{\"a\":1,\"client_secret\":\"«secret»\"},{\"a\":2,\"client_secret\":\"«secret»\"}],\"next\":null}\n",
    ),
    ("YAML", "database:\n  host: db.internal\n  user: app\n  password: «secret»\nreplicas: 3\n"),
    ("YAML in quotes", "smtp:\n  host: \"mail.internal\"\n  api_key: \"«secret»\"\n  from: '«email»'\n"),
    (
        ".env",
        "# settings\nAPP_ENV=production\nDB_PASSWORD=«short»\nSESSION_SECRET=«secret»\nPORT=8080\nSTRIPE=«token»\n",
    ),
    (
        ".env in quotes",
        "APP_ENV=\"production\"\nexport DB_PASSWORD=\"«strong»\"\nexport MAIL_TOKEN='«secret»'\n",
    ),
    (
        "env",
        "SHELL=/bin/bash\nPATH=/usr/bin:/bin\nGITHUB_TOKEN=«token»\nPGPASSWORD=«short»\nHOME=/root\nLANG=C.UTF-8\n",
    ),
    (
        "stack trace",
        "Traceback (most recent call last):\n  File \"/srv/app/main.py\", line 42, in <module>\n    connect()\nOperationalError: cannot connect to postgres://app:«secret»@db.internal:5432/main\n",
    ),
    (
        "Java stack trace",
        "Exception in thread \"main\" java.lang.IllegalStateException: bad token «token»\n\tat com.acme.App.main(App.java:17)\n",
    ),
    (
        "curl -v",
        "> GET /v1/me HTTP/1.1\n> Host: api.internal\n> Authorization: Bearer «secret»\n> Accept: */*\n< HTTP/1.1 200 OK\n< content-type: application/json\n",
    ),
    (
        "curl with basic",
        "* Server auth using Basic with user 'app'\n> Authorization: Basic «<alnum*30><digit*2>==»\n> User-Agent: curl/8.5.0\n",
    ),
    (
        "docker inspect",
        "[\n    {\n        \"Id\": \"83db48fbf2693c4d1e0a7b5c9d8e6f1a2b3c4d5e\",\n        \"Config\": {\n            \"Env\": [\n                \"PATH=/usr/bin\",\n                \"POSTGRES_PASSWORD=«short»\",\n                \"API_TOKEN=«secret»\"\n            ]\n        }\n    }\n]\n",
    ),
    (
        "Kubernetes",
        "apiVersion: v1\nkind: Secret\nmetadata:\n  name: app\nstringData:\n  DB_PASSWORD: «secret»\n  token: «token»\ntype: Opaque\n",
    ),
    ("kubectl config", "users:\n- name: admin\n  user:\n    token: «token»\ncurrent-context: prod\n"),
    (
        "terraform",
        "  + resource \"aws_db_instance\" \"main\" {\n      + password = \"«strong»\"\n      + username = \"app\"\n    }\n",
    ),
    ("terraform output", "db_password = \"«secret»\"\nendpoint = \"db.internal:5432\"\n"),
    (
        "npm",
        "npm notice Publishing to registry with //registry.npmjs.org/:_authToken=«token»\nnpm ERR! code E401\n",
    ),
    (
        "pip",
        "Looking in indexes: https://ci:«secret»@pypi.internal/simple\nCollecting requests==2.31.0\n  Downloading requests-2.31.0-py3-none-any.whl (62 kB)\n",
    ),
    ("CI", "Run ./deploy.sh\n  env:\n    DEPLOY_TOKEN: «token»\n    REGION: eu-west-1\nError: exit code 1\n"),
    ("CSV", "id,name,email,key\n1,Jane,«email»,«token»\n2,Bob,bob@example.com,\n"),
    ("SQL", "INSERT INTO users (id, email, api_token) VALUES (1, '«email»', '«token»');\n"),
    (
        "SQL user",
        "CREATE USER app WITH LOGIN;\nSELECT dblink_connect('host=db password=«secret» user=app');\n",
    ),
    (
        "markdown",
        "# Access\n\n1. Log in as `«email»`.\n2. Use `«token»` as the token.\n\n| name | value |\n|---|---|\n| key | `«token»` |\n",
    ),
    (
        "Rust",
        "fn main() {\n    let client = Client::new(\"«token»\");\n    let token = next_token(&client);\n}\n",
    ),
    (
        "Python",
        "import os\n\nAPI_KEY = \"«secret»\"\ntoken = os.environ[\"TOKEN\"]\nclient = Client(token=\"«token»\")\n",
    ),
    (
        "JavaScript",
        "const password = process.env.DB_PASSWORD;\nconst client = new Client({ apiKey: '«secret»' });\n",
    ),
    ("TypeScript", "export const config: Config = {\n  clientSecret: \"«secret»\",\n  retries: 3,\n};\n"),
    ("Go", "package main\n\nconst apiToken = \"«secret»\"\n\nfunc main() { run(os.Getenv(\"TOKEN\")) }\n"),
    ("Java", "public class App {\n    private static final String SECRET_KEY = \"«secret»\";\n}\n"),
    ("Ruby", "Stripe.api_key = \"«token»\"\nputs ENV['HOME']\n"),
    ("C#", "var connection = \"Server=db;Database=main;User Id=app;Password=«secret»;\";\n"),
    ("PHP", "<?php\n$config['db_password'] = '«strong»';\n$config['host'] = 'db';\n"),
    (
        "minified JavaScript",
        "!function(e){var t={};function n(r){return t[r]}n.k=\"«token»\",n.m=e}([function(e,t){e.exports={a:1}}]);\n",
    ),
    (
        "XML",
        "<server>\n  <id>central</id>\n  <username>app</username>\n  <password>«secret»</password>\n</server>\n",
    ),
    (
        "INI",
        "[default]\naws_access_key_id = «AKIA<upper*16>»\naws_secret_access_key = «<alnum*20><digit*2><alnum*18>»\nregion = eu-west-1\n",
    ),
    (
        "properties",
        "spring.datasource.url=jdbc:postgresql://db/main\nspring.datasource.password=«secret»\nserver.port=8080\n",
    ),
    ("TOML", "[registry]\ntoken = \"«secret»\"\nurl = \"https://crates.internal\"\n"),
    ("private key", "$ cat id_key\n«pem»\n$ ls\nid_key  id_key.pub\n"),
    ("private key in YAML", "tls:\n  key: |\n    «pem»\n  port: 443\n"),
    (
        "private key in JSON",
        "{\"type\": \"service_account\", \"private_key\": \"«escaped pem»\\n\", \"client_email\": \"«email»\"}\n",
    ),
    ("two private keys", "one:\n«pem»\ntwo:\n«pem»\n"),
    ("query", "GET https://api.internal/v1/items?limit=10&access_token=«token»&page=2 200 12ms\n"),
    (
        "encoded query",
        "302 https://app.internal/cb?next=https%3A%2F%2Fx.internal%2F%3Fapi_key%3D«secret»%26page%3D2\n",
    ),
    (
        "connection strings",
        "DATABASE_URL=mysql://root:«strong»@db.internal:3306/main\nREDIS_URL=redis://:«secret»@cache.internal:6379/0\nAMQP=amqp://svc:«secret»@mq.internal/vhost\n",
    ),
    ("MongoDB", "Connecting to mongodb+srv://svc:«secret»@cluster0.internal/?retryWrites=true\n"),
    ("webhook", "Posting to https://hooks.slack.com/services/«T<upper*8>/B<upper*10>/<alnum*24>»\nok\n"),
    ("command line", "deploy  4711  0.0  0.1 /usr/bin/backup --host db --password «secret» --verbose\n"),
    (
        "shell history",
        "  501  export AWS_SECRET_ACCESS_KEY=«<alnum*20><digit*2><alnum*18>»\n  502  cd /srv\n  503  make deploy\n",
    ),
    (
        "HTTP file",
        "POST /login HTTP/1.1\nX-Api-Key: «secret»\nContent-Type: application/json\n\n{\"user\": \"app\", \"password\": \"«secret»\"}\n",
    ),
    (
        "mail",
        "From: Jane Doe <«email»>\nTo: ops <«email»>\nCc: no-reply@example.com\nSubject: Re: keys\n\nthe key is «token», bye\n",
    ),
];
