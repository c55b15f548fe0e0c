// "Add a label": what one types is appended to the stream as an event, and its class as a label.

import { element } from "./format.js";

const PATIENCE_SECONDS = 10;

const at = (id) => document.getElementById(id);

// Offer the classes as the model names them; what was chosen stays.
export function showClasses(classes) {
  const offered = [...at("truth").options].map((each) => each.value);
  if (offered.join() === classes.map((each) => JSON.stringify(each)).join()) return;
  at("truth").replaceChildren(...classes.map((each) => element("option", { value: JSON.stringify(each) }, String(each))));
}

// Where records have another schema than the service's own, no event can be made of what one types.
export function offerTeaching(isOffered) {
  at("teach-offer").hidden = !isOffered;
  at("teach-instead").hidden = isOffered;
  at("teaching").hidden = !isTeaching();
}

export const isTeaching = () => at("teach").checked && !at("teach-offer").hidden;

at("teach").addEventListener("change", () => {
  at("teaching").hidden = !isTeaching();
  at("taught").replaceChildren();
});

// Each time under an id of its own: a second time is a second event.
export async function teach({ text, features }) {
  const id = `typed-${[...crypto.getRandomValues(new Uint8Array(8))].map((byte) => byte.toString(16).padStart(2, "0")).join("")}`;
  at("taught").replaceChildren(element("p", { class: "caption" }, "Appending …"));
  try {
    const event = await appended(`/events?wait_seconds=${PATIENCE_SECONDS}`, { id, text, features });
    const truth = JSON.parse(at("truth").value);
    await appended("/labels", { id, label: truth });
    at("taught").replaceChildren(element("p", { class: "caption", role: "status" }, sentence(event, truth)));
  } catch ({ what, hint }) {
    at("taught").replaceChildren(element("p", { class: "wrong" }, what ?? "The service does not answer."), element("p", { class: "caption" }, hint ?? ""));
  }
}

function sentence({ id, label, partition }, truth) {
  const predicted = label === undefined ? "" : `, predicted ${label}`;
  return `Appended to the stream as ${id}, partition ${partition}${predicted}, labelled ${truth}.`;
}

async function appended(address, message) {
  const answer = await fetch(address, { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(message) });
  const body = await answer.json();
  if (!answer.ok) throw body;
  return body;
}
