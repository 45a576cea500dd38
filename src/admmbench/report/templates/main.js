// The start: what is here without scripts becomes what can be used.

document.documentElement.classList.add("scripted");
// The page says when its file was written, and not the file itself: the same results give the same bytes.
document.getElementById("written").textContent = new Date(document.lastModified).toLocaleDateString("en-CA");
const stated = document.querySelector(".stated");
if (stated) startClaims(stated);
linkParts();
startMethods();
document.querySelectorAll("main table").forEach(labelCells);
document.querySelectorAll("main table").forEach(enliven);
document.querySelectorAll(".board").forEach(startBoard);
unfold();
// The view takes its room when it is drawn: what the address names has moved by then.
if (section) startExplore().then(() => document.getElementById(location.hash.slice(1))?.scrollIntoView());
addEventListener("hashchange", unfold);
