import { tokens } from "../schema/brand.ts";

/** Where nothing says otherwise. */
const windowTokensDefault = tokens(200_000);

/** Room that every request leaves: no request is sent above the window less this. */
const blockingBufferTokens = tokens(3_000);

export const blockingTokensDefault = tokens(windowTokensDefault - blockingBufferTokens);
