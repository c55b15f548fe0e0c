// What is shown again each second changes in place: selections and hints stay, and the browser draws only what is new.

// Make an element like another one, which is used up.
function morph(shown, made) {
  if (shown.nodeName !== made.nodeName) {
    shown.replaceWith(made);
    return;
  }
  if (shown.nodeType === Node.TEXT_NODE) {
    if (shown.data !== made.data) shown.data = made.data;
    return;
  }
  for (const { name } of [...shown.attributes]) if (!made.hasAttribute(name)) shown.removeAttribute(name);
  for (const { name, value } of made.attributes) if (shown.getAttribute(name) !== value) shown.setAttribute(name, value);
  morphChildren(shown, [...made.childNodes]);
}

function morphChildren(place, made) {
  const before = [...place.childNodes];
  for (const child of before.slice(made.length)) child.remove();
  for (const [index, child] of made.entries()) {
    if (before[index]) morph(before[index], child);
    else place.append(child);
  }
}

// Show elements or texts as the children of a place.
export function show(place, ...made) {
  const holder = document.createDocumentFragment();
  holder.append(...made);
  morphChildren(place, [...holder.childNodes]);
}
