import { describe, expect, it } from "vitest";
import { cpuMillis } from "../../../../test/fixture/cpu-millis.ts";
import { maskEntry } from "./mask-secrets.ts";
import { maskSecrets } from "../text/find-secrets.ts";

/** Put together here, so that no scanner of the repository takes them for real ones. */
const of = (...parts: readonly string[]): string => parts.join("");
const letters = "aB3dE5fG7hJ9kL1mN3pQ5rS7tU9vW1xY3zA5bC7dE9fG1h";
const pem = `-----BEGIN RSA PRIVATE KEY-----\n${`${letters}\n`.repeat(4)}-----END RSA PRIVATE KEY-----`;

describe("secrets are masked by their shape", () => {
  it.each([
    ["anthropic-key", of("sk-", "ant-api03-", letters)],
    ["openai-key", of("sk-", "proj-", letters)],
    ["openai-key", of("sk-", letters)],
    ["github-token", of("gh", "p_", letters)],
    ["github-token", of("github", "_pat_", letters)],
    ["gitlab-token", of("glp", "at-", letters)],
    ["aws-key", of("AK", "IA", "QWERTYUIOP123456")],
    ["gcp-key", of("AI", "za", letters.slice(0, 35))],
    ["gcp-key", of("ya", "29.", letters)],
    ["slack-token", of("xo", "xb-1234567890-", letters)],
    ["slack-webhook", of("https://hooks.slack", ".com/services/T00000000/B00000000/", letters)],
    ["stripe-key", of("sk", "_live_", letters)],
    ["npm-token", of("np", "m_", letters.slice(0, 36))],
    ["huggingface-token", of("h", "f_", letters)],
    ["sendgrid-key", of("S", "G.", letters.slice(0, 22), ".", letters.slice(0, 43))],
    ["jwt", of("ey", "JhbGciOiJIUzI1NiJ9.", "eyJzdWIiOiIxMjM0NTY3ODkwIn0.", letters)],
    ["private-key", pem],
    ["private-key", JSON.stringify(pem).slice(1, -1)],
    ["private-key", pem.slice(0, 120)],
  ])("%s", (kind, secret) => {
    const masked = maskSecrets(`before ${secret}\n after`);
    expect(masked).toMatch(new RegExp(String.raw`^before \[secret: ${kind}\]\s* after$`));
    expect(maskSecrets(masked)).toBe(masked);
  });
});

describe("secrets are masked by the name before them", () => {
  it.each([
    ["password=hunter2!", "password=[secret: password]"],
    ["DB_PASSWORD=correcthorse", "DB_PASSWORD=[secret: password]"],
    ['"password": "s3cr3t-pass"', '"password": "[secret: password]"'],
    ['{\\"apiKey\\":\\"a1b2c3d4e5\\"}', '{\\"apiKey\\":\\"[secret: key]\\"}'],
    ["aws_secret_access_key = wJalrXUtnFEMI/K7MDENG/bPxRfiCY", "aws_secret_access_key = [secret: key]"],
    ["x-api-key: 9f8e7d6c5b4a", "x-api-key: [secret: key]"],
    ["mysql --password hunter22 -u root", "mysql --password [secret: password] -u root"],
    ["client_secret: 'q8Zr!kk02'", "client_secret: '[secret: secret]'"],
    ["postgres://app:pa55@db:5432/x", "postgres://app:[secret: password]@db:5432/x"],
    ["https://x-token:abc123@github.com/a/b", "https://x-token:[secret: password]@github.com/a/b"],
    ["Authorization: Bearer abcdef0123456789abcdef", "Authorization: Bearer [secret: authorization]"],
  ])("%s", (text, expected) => {
    expect(maskSecrets(text)).toBe(expected);
    expect(maskSecrets(expected)).toBe(expected);
  });
});

describe("code and prose stay as they are", () => {
  it.each([
    "const token = await nextToken();",
    "function login(user: string, password: string): Promise<void> {",
    "password: PasswordSchema.parse(input.password),",
    "const apiKey = process.env.API_KEY;",
    "api_key=os.environ['KEY']",
    "token = tokens[index + 1]",
    "if (token.type === 'identifier') secret = other.secret;",
    'label: { password: "Enter your password", token: "auth.token.label" }',
    'password: "password"',
    "API_KEY=${API_KEY}",
    "API_KEY=<your key>",
    "postgres://user:${password}@localhost/db",
    "git clone https://github.com/a/b.git and ssh://git@github.com/a/b",
    "max_tokens: 12000, inputTokens=48211",
    'if (text.includes("-----BEGIN PRIVATE KEY-----")) throw new Error("no keys");',
    "commit 3f785a1b2c3d4e5f60718293a4b5c6d7e8f90123",
    "sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=",
    "The token was refused; the secret to good code is practice.",
    "uuid 123e4567-e89b-42d3-a456-426614174000, task-skip-list, sk-button",
    "Bearer authentication is required",
    'import { secret } from "./secret.ts"; type: "password"',
    "token: Token; password?: string | undefined",
  ])("%s", (text) => {
    expect(maskSecrets(text)).toBe(text);
  });

  it("and a long line without any is read in little time", () => {
    const line = "Aa0".repeat(700_000);
    const started = cpuMillis();
    expect(maskSecrets(line)).toBe(line);
    expect(cpuMillis() - started).toBeLessThan(2_000);
  });
});

describe("an entry is masked text by text", () => {
  const key = of("sk-", "ant-api03-", letters);

  it("in content, inputs and structured results, with signed fields and ids untouched", () => {
    const entry = {
      type: "assistant",
      uuid: key,
      message: {
        id: key,
        content: [
          { type: "thinking", thinking: `so ${key}`, signature: key },
          { type: "redacted_thinking", data: key },
          { type: "tool_use", id: key, name: "Bash", input: { command: `curl -H ${key}`, signature: key, id: key } },
          { type: "image", source: { type: "base64", media_type: "image/png", data: key } },
        ],
      },
      toolUseResult: { env: { PASSWORD: "hunter2x" }, stdout: key },
    };
    const mark = "[secret: anthropic-key]";
    expect(maskEntry(entry, maskSecrets)).toEqual({
      ...entry,
      message: {
        id: key,
        content: [
          { type: "thinking", thinking: `so ${mark}`, signature: key },
          { type: "redacted_thinking", data: key },
          { type: "tool_use", id: key, name: "Bash", input: { command: `curl -H ${mark}`, signature: mark, id: mark } },
          { type: "image", source: { type: "base64", media_type: "image/png", data: key } },
        ],
      },
      toolUseResult: { env: { PASSWORD: "[secret: password]" }, stdout: mark },
    });
  });

  it("and is the same object where it holds none", () => {
    const entry = { type: "user", message: { content: ["nothing", { a: 1 }] } };
    expect(maskEntry(entry, maskSecrets)).toBe(entry);
  });
});
