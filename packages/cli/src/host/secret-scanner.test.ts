import { rules } from "@secretlint/secretlint-rule-preset-recommend";
import { maskFindings } from "palimpsest/internal/text/find-secrets";
import { describe, expect, it } from "vitest";
import { createSecretScanner, mayConcernLinter } from "./secret-scanner.ts";

const join = (...parts: readonly string[]): string => parts.join("");
const letters = "aB3dE5fG7hJ9kL1mN3pQ5rS7tU9vW1xY3zA5bC7dE9fG1h";
/** Known to secretlint and to none of our rules. */
const account = join("cf", "ut_", letters.slice(0, 40), "1a2b3c4d");

/** A text that each of secretlint's rules reports, as far as it begins. */
const startByRule: Readonly<Record<string, readonly string[]>> = {
  "1password": ["ops_ey"],
  anthropic: ["sk-ant-api03-"],
  aws: ["AKIA2", "aws_secret_access_key = ", '"AwsSecretAccessKey": "', "AWS_ACCOUNT_ID=1234"],
  basicauth: ["https://ada:word@host.org"],
  cloudflare: ["cfk_", "cfut_", "cfat_"],
  "database-connection-string": ["mongodb+srv://a:b@c", "jdbc:mysql://a:b@c", "postgresql://a:b@c"],
  databricks: ["dapi0"],
  docker: ["dckr_pat_"],
  figma: ["figd_"],
  github: ["ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_"],
  gitlab: ["glpat-"],
  grafana: ["glc_", "glsa_"],
  groq: ["gsk_"],
  "hashicorp-vault": ["hvs.", "hvb.", "hvr."],
  huggingface: ["hf_"],
  linear: ["lin_api_"],
  notion: ["ntn_"],
  npm: ["npm_", "_authToken=", "https://x:x-oauth-basic@github.com/"],
  openai: ["sk-proj-", "sk-a"],
  privatekey: ["-----BEGIN RSA PRIVATE KEY"],
  sendgrid: ["SG."],
  shopify: ["shppa_", "shpca_", "shpat_", "shpss_"],
  slack: ["xoxb-", "xoxp-", "xapp-", "xoxa-", "xoxo-", "xoxr-", "https://hooks.slack.com/services/"],
  stripe: ["sk_live_", "sk_test_", "rk_live_", "rk_test_"],
  tailscale: ["tskey-"],
  vercel: ["vcp_", "vci_", "vca_", "vcr_", "vck_"],
};
/** One reads files of keys, which no text is; the other is switched off. */
const rulesWithoutText = ["gcp", "filter-comments"];

describe("which texts secretlint reads", () => {
  it("are all those that one of its rules could report; a new rule has to be added here", () => {
    const names = rules.map(({ meta }) => meta.id.replace(/^.*secretlint-rule-/, ""));
    expect(names.toSorted()).toEqual([...Object.keys(startByRule), ...rulesWithoutText].toSorted());
    for (const start of Object.values(startByRule).flat())
      expect([start, mayConcernLinter(`x ${start}`)]).toEqual([start, true]);
  });

  it("are few: code and prose are left to our rules", () => {
    expect(
      mayConcernLinter("const account = await open(); // see https://example.org, npm install, a task-force"),
    ).toBe(false);
  });
});

describe("the command line's scanner", () => {
  it("finds what only secretlint knows, and the whole of it", async () => {
    const text = `it is ${account}, keep it`;
    const findings = await createSecretScanner().scan(text);
    expect(maskFindings(text, findings)).toBe("it is [secret: cloudflare], keep it");
  });

  it("of an address masks the password alone", async () => {
    const text = "mongodb+srv://app:s3cr3t-Pass@cluster0.example.net/shop";
    const masked = maskFindings(text, await createSecretScanner().scan(text));
    expect(masked).toBe("mongodb+srv://app:[secret: password]@cluster0.example.net/shop");
  });

  it("obeys no comment that would switch a rule off", async () => {
    const text = `// secretlint-disable\n${account}\n// secretlint-enable`;
    expect(await createSecretScanner().scan(text)).toHaveLength(1);
  });

  it("finds a secret on the edge between two windows of a long text, once", async () => {
    const padding = "const value = next();\n".repeat(20_000);
    for (const at of [262_144 - 20, 262_144 - 16_384 - 20, 300_000]) {
      const text = `${padding.slice(0, at)}\n${account}\n${padding.slice(at)}`;
      const findings = await createSecretScanner().scan(text);
      expect(findings.map(({ start, end }) => text.slice(start, end))).toEqual([account]);
    }
  });

  it("stops asking secretlint when its time is over; our own rules have read everything", async () => {
    let time = 0;
    const late = createSecretScanner({ now: () => (time += 600) });
    const text = `${"x ".repeat(300_000)}${account} password=hunter22`;
    const findings = await late.scan(text);
    expect(findings.map(({ kind }) => kind)).toEqual(["password"]);
  });

  it("leaves nothing behind in the process' timeline", async () => {
    const before = performance.getEntriesByType("mark").length;
    await createSecretScanner().scan(account);
    expect(performance.getEntriesByType("mark")).toHaveLength(before);
  });
});
