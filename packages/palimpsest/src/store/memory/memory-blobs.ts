import { createHash } from "node:crypto";
import { type BlobId, blobId } from "../../schema/brand.ts";
import type { Blobs } from "../../ports/blobs.ts";
import { type FaultAt, faultFailure } from "./fault.ts";

export function memoryBlobs(options: { readonly faultAt?: FaultAt } = {}): Blobs {
  const dataById = new Map<BlobId, Uint8Array>();
  let writes = 0;
  return {
    put: async (data) => {
      const id = blobId(createHash("sha256").update(data).digest("hex"));
      if (dataById.has(id)) return { kind: "stored", id };
      const fault = options.faultAt?.(writes++);
      if (fault !== undefined) return faultFailure(fault);
      dataById.set(id, Uint8Array.from(data));
      return { kind: "stored", id };
    },
    get: async (id) => dataById.get(id)?.slice(),
    list: async () => [...dataById.keys()].toSorted(),
  };
}
