/** The third rung: what the model may still write is lowered to what the window has left, so that the call fits. */
import type { FrozenCall } from "../../kernel/index.ts";
import type { ContextGauge } from "../services.ts";

/** Below this an answer is not worth sending for; the provider decides instead. */
const FLOOR = 256;
/** Share of the window that a local count may be wrong by. */
const MARGIN = 0.01;

export function clampToWindow(call: FrozenCall, gauge: ContextGauge): void {
  const { model, view, allowance } = call;
  const window = gauge.windowOf(model);
  if (window === undefined) return;
  const left = Math.floor(window * (1 - MARGIN)) - gauge.sizeOf(view, model).tokens;
  if (left >= FLOOR && left < allowance) call.lowerAllowance(left);
}
