import { bytes, millis } from "palimpsest/internal/schema/brand";

/** Timeout of a program that only prints its version. */
export const programMs = millis(5_000);
/** Timeout of an address that is checked for an answer. */
export const onlineMs = millis(10_000);
/** Timeout of one MCP server, including package runners that download. */
export const serverMs = millis(60_000);
/** A session with its blobs takes that much; below, writes are about to fail. */
export const diskBytesLow = bytes(1_000_000_000);
export const diskBytesMin = bytes(50_000_000);
/** The newest sessions, whose folders are checked: left-over processes belong to recent ones. */
export const sessionsLookedAtMax = 100;
/** Narrower terminals break tables. */
export const columnsMin = 60;
export const nodeMajorMin = 24;
