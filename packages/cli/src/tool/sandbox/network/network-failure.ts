/**
 * What to tell of a command that had no network and failed by it, as far as its last words show; undefined: it failed
 * by something else. Pure.
 */
export const networkFailureNote = (output: string): string | undefined =>
  failureForm.test(output.slice(-lastCharsLooked)) ? missingNetwork : undefined;

const missingNetwork =
  "commands in the sandbox have no network; if this one needs it, run it with network: true, and rules or the user decide about each host";

/** What programs say at their end: some kilobytes. */
const lastCharsLooked = 8_000;

/** As the system and programs call it when no name can be looked up and no address is reached. */
const failureForm = new RegExp(
  [
    String.raw`Could not resolve (?:host|proxy)`,
    "Temporary failure in name resolution",
    "Name or service not known",
    "nodename nor servname provided",
    "getaddrinfo",
    "EAI_AGAIN",
    "ENOTFOUND",
    "ENETUNREACH",
    "Network is unreachable",
    "No route to host",
    "network is unreachable",
    "no such host",
    "dial (?:tcp|udp)",
    "failed to lookup address",
    "unable to resolve host",
    "Failed to establish a new connection",
    "UnknownHostException",
  ].join("|"),
);
