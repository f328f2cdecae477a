// Changes of a project's language model settings. A key belongs to the address that it was given for, and is never sent
// to another one. An address that an admin has set stays trusted; other addresses do not become trusted by it.

import { Fault } from "../domain/fault.ts";
import { PROVIDER_ADDRESSES } from "../domain/language-model.ts";
import { DEFAULT_LLM_MODEL, type LlmModelSettings, type LlmProvider, type LlmSettings } from "../domain/project.ts";
import { allows, type Principal } from "../domain/scope.ts";
import type { AddressGuard } from "../ports/outbound.ts";

/** A language model as a caller sends it. A setting that is left out stays unchanged; null restores the default. */
export interface LlmModelChange extends Partial<Omit<LlmModelSettings, "provider" | "is_address_trusted">> {
  readonly provider?: LlmProvider | null;
}

/** Language model settings as a caller sends them. `fallbacks` replaces the whole list. */
export interface LlmChange extends LlmModelChange {
  readonly vision?: boolean | null;
  readonly fallbacks?: readonly LlmModelChange[] | null;
}

/** The settings after a change. */
export function changedLlm(current: LlmSettings, change: LlmChange, isByAdmin: boolean): LlmSettings {
  const { fallbacks, vision = current.vision, ...first } = change;
  const model = changedModel(current, first);
  const isSame = isSameAddress(model, current);
  const changed = {
    ...model,
    api_key: first.api_key === undefined ? (isSame ? current.api_key : null) : first.api_key,
    is_address_trusted: isSame ? current.is_address_trusted : isByAdmin,
    vision: vision ?? false,
  };
  if (fallbacks === undefined) return { ...changed, fallbacks: current.fallbacks };
  return {
    ...changed,
    fallbacks: (fallbacks ?? []).map((fallback, index) => newFallback(current, fallback, index, isByAdmin)),
  };
}

/**
 * Checks the new addresses in a change: an admin may choose any address, others only a public one.
 * @throws Fault `unsafe_url`
 */
export async function checkNewAddresses(
  guard: AddressGuard,
  principal: Principal,
  current: LlmSettings,
  change: LlmChange,
): Promise<void> {
  for (const { address, param } of newAddresses(current, change)) {
    if (!allows(principal, "admin")) {
      await guard.check(address, param);
      continue;
    }
    const isWeb = URL.canParse(address) && /^https?:$/.test(new URL(address).protocol);
    if (!isWeb) throw new Fault("unsafe_url", `'${param}' must be an http or https address.`, { param });
  }
}

/** The addresses in a change that are not those of the current settings, and where the request names them. */
export function newAddresses(
  current: LlmSettings,
  { fallbacks, ...first }: LlmChange,
): readonly { readonly address: string; readonly param: string }[] {
  const known = [current, ...current.fallbacks].map(({ base_url }) => base_url);
  const named = [
    { address: first.base_url, own: [current.base_url], param: "llm.base_url" },
    ...(fallbacks ?? []).map(({ base_url }, index) => {
      return { address: base_url, own: known, param: `llm.fallbacks[${index}].base_url` };
    }),
  ];
  return named.flatMap(({ address, own, param }) =>
    address === undefined || address === null || own.includes(address) ? [] : [{ address, param }],
  );
}

function newFallback(
  current: LlmSettings,
  change: LlmModelChange,
  index: number,
  isByAdmin: boolean,
): LlmModelSettings {
  const model = changedModel(DEFAULT_LLM_MODEL, change);
  const atAddress = (known: LlmModelSettings | undefined) => known !== undefined && isSameAddress(known, model);
  const [samePlace, others] = [current.fallbacks[index], current.fallbacks.filter(atAddress)];
  const before =
    samePlace !== undefined && atAddress(samePlace)
      ? samePlace
      : (others.find((known) => known.model === model.model) ?? others[0]);
  const trusted = before ?? (isSameAddress(current, model) ? current : undefined);
  return {
    ...model,
    api_key: change.api_key === undefined ? (before?.api_key ?? null) : change.api_key,
    is_address_trusted: trusted?.is_address_trusted ?? isByAdmin,
  };
}

// A model of a provider with a single address gets that address, unless the caller names another one. When the provider
// changes, the address of the earlier provider is dropped.
function changedModel(current: LlmModelSettings, change: LlmModelChange): LlmModelSettings {
  const provider = change.provider === undefined ? current.provider : (change.provider ?? DEFAULT_LLM_MODEL.provider);
  const isMoving = provider !== current.provider && current.base_url === (PROVIDER_ADDRESSES[current.provider] ?? null);
  const kept = isMoving ? null : current.base_url;
  const base_url = (change.base_url === undefined ? kept : change.base_url) ?? PROVIDER_ADDRESSES[provider] ?? null;
  return { ...current, ...change, provider, base_url };
}

// The provider does not matter: it is the address that a key is sent to.
function isSameAddress(left: LlmModelSettings, right: LlmModelSettings): boolean {
  return left.base_url === right.base_url;
}
