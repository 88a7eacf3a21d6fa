import { execFile, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { runInNewContext } from "node:vm";
import { beforeAll, describe, expect, it, test } from "vitest";
import { type BrowserBundle, bundleForBrowser } from "../../bench/browser/bundle.ts";

const chromiumMsMax = 60_000;

const outcome = {
  roles: "user,assistant,user",
  cleared: true,
  presets: expect.any(Number) as number,
  policy: "palimpsest",
};

describe("palimpsest/policy and the projection, bundled for a browser", () => {
  let bundle: BrowserBundle;
  beforeAll(async () => {
    bundle = await bundleForBrowser();
  });

  it("import nothing of Node, and run with a browser's globals alone", () => {
    expect(bundle.imports).toEqual([]);
    expect(bundle.code).not.toMatch(/["'`]node:|\brequire\(/);
    // Neither Buffer nor process nor require.
    const page: Record<string, unknown> = { TextEncoder, TextDecoder };
    runInNewContext(bundle.code, page);
    expect(JSON.parse(String(page["palimpsestOutcome"]))).toEqual(outcome);
  });

  const why = whyNoChromium();
  const skipped = why === undefined ? "" : ` (skipped: ${why})`;
  test.skipIf(why !== undefined)(
    `run in Chromium, as a module of a page${skipped}`,
    { timeout: chromiumMsMax },
    async () => {
      const dom = await openInChromium({ "/": page, "/bundle.js": bundle.code });
      const [, shown = ""] = /<pre id="outcome">(.*)<\/pre>/s.exec(dom) ?? [];
      const [, agent] = /<pre id="agent">(.*)<\/pre>/s.exec(dom) ?? [];
      expect(agent).toContain("Chrome/");
      expect(JSON.parse(shown)).toEqual(outcome);
    },
  );
});

/** An error of the bundle stands where its outcome would. */
const page = `<!doctype html><meta charset="utf-8"><title>palimpsest</title><pre id="agent"></pre><pre id="outcome"></pre>
<script>
  const show = (id, text) => (document.getElementById(id).textContent = text);
  show("agent", navigator.userAgent);
  addEventListener("error", (event) => show("outcome", JSON.stringify(String(event.message))));
</script>
<script type="module">
  import "/bundle.js";
  show("outcome", globalThis.palimpsestOutcome);
</script>`;

function whyNoChromium(): string | undefined {
  const trial = spawnSync("chromium", ["--version"], { encoding: "utf8", timeout: 10_000 });
  if (trial.error === undefined && trial.status === 0) return undefined;
  return trial.error !== undefined && "code" in trial.error && trial.error.code === "ENOENT"
    ? "chromium is not on PATH"
    : "chromium does not start here";
}

/** Serves the texts by their paths and returns the first one's page, as it is when it has loaded. */
async function openInChromium(textByPath: Readonly<Record<string, string>>): Promise<string> {
  const server = createServer((request, response) => {
    const text = textByPath[request.url ?? ""];
    const type = request.url?.endsWith(".js") === true ? "text/javascript" : "text/html";
    response.writeHead(text === undefined ? 404 : 200, { "content-type": `${type}; charset=utf-8` }).end(text);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("no port");
  const profile = await mkdtemp(join(tmpdir(), "palimpsest-chromium-"));
  try {
    const { stdout } = await promisify(execFile)(
      "chromium",
      [...chromiumFlags, `--user-data-dir=${profile}`, "--dump-dom", `http://127.0.0.1:${address.port}/`],
      { timeout: chromiumMsMax - 10_000, killSignal: "SIGKILL" },
    );
    return stdout;
  } finally {
    server.closeAllConnections();
    server.close();
    await rm(profile, { recursive: true, force: true, maxRetries: 5 });
  }
}

/** Without a sandbox of its own, which containers refuse: the page is ours. Nothing is asked of the network. */
const chromiumFlags = [
  "--headless",
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
];
