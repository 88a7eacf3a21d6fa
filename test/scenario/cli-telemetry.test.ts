import { readFile, writeFile } from "node:fs/promises";
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { expect, it } from "vitest";
import { palimpsest } from "./support/command-line.ts";

it("a process that was started with an OpenTelemetry SDK records its turn, and no text of it", async () => {
  const folder = mkdtempSync(join(tmpdir(), "telemetry-"));
  const spans = join(folder, "spans.json");
  const modules = (name: string): string => JSON.stringify(import.meta.resolve(name));
  const setup = join(folder, "setup.mjs");
  await writeFile(
    setup,
    `import { writeFileSync } from "node:fs";
     import { trace } from ${modules("@opentelemetry/api")};
     import { InMemorySpanExporter, SimpleSpanProcessor, TracerProvider } from ${modules("@opentelemetry/sdk-trace")};
     const exporter = new InMemorySpanExporter();
     trace.setGlobalTracerProvider(new TracerProvider({ spanProcessors: [new SimpleSpanProcessor({ exporter })] }));
     process.on("exit", () => {
       const ended = exporter.getFinishedSpans().map(({ name, attributes }) => ({ name, attributes }));
       if (ended.length > 0) writeFileSync(${JSON.stringify(spans)}, JSON.stringify(ended));
     });`,
  );
  const env = { NODE_OPTIONS: `--import=${pathToFileURL(setup).href}` };
  const said = await palimpsest({ home: join(folder, "home"), env }, "-p", "Say sesame", "--model", "simulator");
  expect(said).toMatchObject({ code: 0, err: "" });
  const written = await readFile(spans, "utf8");
  expect(JSON.parse(written)).toMatchObject([
    { name: /** A matcher has no type of its own. */ expect.stringMatching(/^chat /) as string },
    { name: "invoke_agent palimpsest", attributes: { "palimpsest.turn.reason": "answered" } },
  ]);
  expect(written).not.toContain("sesame");
});
