import { type Json, tryParseJson } from "palimpsest/internal/schema/json";

export interface GatewayAnswer {
  readonly status: number;
  readonly value: Json | undefined;
}

/**
 * Requests one of the gateway's own pages on this machine; undefined if there is no answer. The certificate is not checked,
 * because it may be for another name: `findGateway` makes the gateway prove its identity.
 */
export async function askGateway({
  url,
  path,
  secret,
  method = "GET",
}: {
  readonly url: string;
  readonly path: string;
  readonly method?: "GET" | "POST" | undefined;
  readonly secret?: string | undefined;
}): Promise<GatewayAnswer | undefined> {
  const { request } = url.startsWith("https:") ? await import("node:https") : await import("node:http");
  const headers = { host: "localhost", ...(secret === undefined ? {} : { authorization: `Bearer ${secret}` }) };
  return await new Promise((resolve) => {
    const leave = (): void => resolve(undefined);
    const asked = request(
      `${url}${path}`,
      { method, timeout: answerMsMax, rejectUnauthorized: false, headers, agent: false },
      (response) => {
        let text = "";
        response.setEncoding("utf8");
        response.on("data", (chunk: string) => {
          text += chunk;
          if (text.length > answerCharsMax) response.destroy();
        });
        response.on("end", () => resolve({ status: response.statusCode ?? 0, value: tryParseJson(text) }));
        response.on("error", leave).on("close", leave);
      },
    )
      .on("error", leave)
      // Otherwise the open connection would keep this process running.
      .on("timeout", () => asked.destroy());
    asked.end();
  });
}

/** A gateway on this machine answers within milliseconds; one that takes longer hangs. */
const answerMsMax = 2_000;

/** A status with all its rows has some 100 KB; a longer answer is not from a gateway. */
const answerCharsMax = 4 * 1024 * 1024;
