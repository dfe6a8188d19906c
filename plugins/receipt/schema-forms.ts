/** The forms a receipt's schema is made of: closed objects, counts, amounts, names. */
import { type TProperties, Type } from "@sinclair/typebox";

export const closed = <T extends TProperties>(properties: T, more: object = {}) =>
  Type.Object(properties, { additionalProperties: false, ...more });
export const oneOf = <const T extends readonly string[]>(...values: T) =>
  Type.Unsafe<T[number]>({ type: "string", enum: values });
export const count = (description?: string) => Type.Integer({ minimum: 0, ...(description ? { description } : {}) });
export const amount = (description?: string) => Type.Number({ minimum: 0, ...(description ? { description } : {}) });
export const name = () => Type.String({ minLength: 1 });
export const digest = () => Type.String({ pattern: "^[0-9a-f]{64}$" });
