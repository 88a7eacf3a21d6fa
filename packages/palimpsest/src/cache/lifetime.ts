import type { CacheControl } from "../schema/wire/cache-control.ts";

/** How long the provider keeps a prefix, from the start of the request that wrote or last read it. */
export type Lifetime = NonNullable<CacheControl["ttl"]>;

export const millisByLifetime: Readonly<Record<Lifetime, number>> = { "5m": 5 * 60_000, "1h": 60 * 60_000 };
