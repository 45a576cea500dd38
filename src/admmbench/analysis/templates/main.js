// The start: what is here without scripts becomes what can be used.

document.documentElement.classList.add("scripted");
const stated = document.querySelector(".stated");
if (stated) startClaims(stated);
document.querySelectorAll("main table").forEach(enliven);
if (section) startExplore();
unfold();
addEventListener("hashchange", unfold);
