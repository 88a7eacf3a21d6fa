import { bytes, millis } from "palimpsest/internal/schema/brand";

/** Of a program that only says its version. */
export const programMs = millis(5_000);
/** Of an address that is asked whether anybody is there. */
export const onlineMs = millis(10_000);
/** Of one server of tools, package runners that download included. */
export const serverMs = millis(60_000);
/** A session with its blobs has that much; below, writes are about to fail. */
export const diskBytesLow = bytes(1_000_000_000);
export const diskBytesMin = bytes(50_000_000);
/** Sessions whose folders are looked into, the newest: processes that were left are of late. */
export const sessionsLookedAtMax = 100;
/** Narrower, tables break. */
export const columnsMin = 60;
export const nodeMajorMin = 24;
