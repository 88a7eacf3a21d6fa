import { describe, expect, it } from "vitest";
import type { SecretScanner } from "../../packages/palimpsest/src/ports/secret-scanner.ts";
import { maskFindings } from "../../packages/palimpsest/src/text/find-secrets.ts";
import { fakeSecrets } from "../fixture/secrets.ts";

/** What every scanner promises. */
export function secretScannerContract(name: string, create: () => SecretScanner): void {
  describe(`a secret scanner: ${name}`, () => {
    it.each(fakeSecrets)("finds the whole of it: $kind", async ({ text, secret }) => {
      const scanner = create();
      const masked = maskFindings(text, await scanner.scan(text));
      expect(masked).not.toContain(secret);
      expect(masked).toContain("[secret: ");
      expect(await scanner.scan(masked)).toEqual([]);
    });

    it("returns findings in order, apart from each other, with their lines and without the secrets", async () => {
      const text = fakeSecrets.map(({ text: one }) => one).join("\n");
      const findings = await create().scan(text);
      expect(findings.length).toBeGreaterThanOrEqual(fakeSecrets.length);
      for (const [at, { start, end, line, kind }] of findings.entries()) {
        expect(start).toBeGreaterThanOrEqual(findings[at - 1]?.end ?? 0);
        expect(end).toBeGreaterThan(start);
        expect(line).toBe(text.slice(0, start).split("\n").length);
        expect(kind).toMatch(/^[a-z0-9-]+$/);
      }
      const told = JSON.stringify(findings);
      for (const { secret } of fakeSecrets) expect(told).not.toContain(secret);
    });

    it.each(["", "x", "plain words", "\u{D800}", "\n\n", "commit 3f785a1b2c3d4e5f60718293a4b5c6d7e8f90123"])(
      "finds nothing in %j",
      async (text) => {
        expect(await create().scan(text)).toEqual([]);
      },
    );

    it("answers many calls at once", async () => {
      const scanner = create();
      const answers = await Promise.all(fakeSecrets.map(({ text }) => scanner.scan(text)));
      expect(answers.filter((findings) => findings.length === 0)).toEqual([]);
    });
  });
}
