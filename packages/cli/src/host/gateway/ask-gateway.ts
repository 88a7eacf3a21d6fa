import { type Json, tryParseJson } from "palimpsest/internal/schema/json";

export interface GatewayAnswer {
  readonly status: number;
  readonly value: Json | undefined;
}

/**
 * Asks a gateway of this machine for one of its own pages; undefined if there is no answer. Its certificate is not checked,
 * since it may be for another name: `findGateway` makes it prove who it is.
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
      // Else its connection keeps this process running.
      .on("timeout", () => asked.destroy());
    asked.end();
  });
}

const answerMsMax = 2_000;
const answerCharsMax = 4 * 1024 * 1024;
