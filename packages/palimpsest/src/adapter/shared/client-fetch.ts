type Fetch = (input: string | URL | Request, init?: RequestInit) => Promise<Response>;

/** What a client of an official SDK sends its requests with. The SDKs keep it in a private field of this name. */
export function clientFetch(client: object): Fetch {
  const own: unknown = Reflect.get(client, "fetch");
  return isFetch(own) ? own : globalThis.fetch;
}

const isFetch = (value: unknown): value is Fetch => typeof value === "function";
