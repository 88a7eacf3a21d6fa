import { expect, test } from "vitest";
import { networkFailureNote } from "../sandbox-failure-note.ts";

test.each([
  "curl: (6) Could not resolve host: a.org",
  "npm error code EAI_AGAIN\nnpm error syscall getaddrinfo",
  "fatal: unable to access 'https://a.org/': Could not resolve host: a.org",
  "socket.gaierror: [Errno -3] Temporary failure in name resolution",
  "dial tcp: lookup proxy.golang.org: no such host",
  "TypeError: fetch failed … cause: Error: connect ENETUNREACH 1.1.1.1:443",
])("%j is a failure by the missing network", (output) => {
  expect(networkFailureNote(output)).toContain("network: true");
});

test.each(["1 test failed", "Error: connect ECONNREFUSED 127.0.0.1:3000", "Permission denied", ""])(
  "%j is none",
  (output) => {
    expect(networkFailureNote(output)).toBeUndefined();
  },
);

test("only its last words count", () => {
  expect(networkFailureNote(`Could not resolve host: a.org\n${"x".repeat(20_000)}`)).toBeUndefined();
});
