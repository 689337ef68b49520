// Messages between a page and its worker.

import type { Tables } from "./engine";
import type { Template } from "./layout";
import type { Settings } from "./settings";
import type { Changes } from "./worker";

export type ToWorker =
  | { kind: "load"; wasm: ArrayBuffer; template: Template }
  | { kind: "run"; id: number; settings?: Settings; form?: Record<string, unknown>; changes?: Changes };

export type FromWorker =
  | { kind: "ready" }
  | { kind: "unable"; message: string }
  | { kind: "partial"; id: number; fraction: number; tables: Tables }
  | { kind: "whole"; id: number; tables: Tables; summary: Record<string, unknown>; form: Record<string, unknown>; wall_ms: number }
  | { kind: "refused"; id: number; message: string };
