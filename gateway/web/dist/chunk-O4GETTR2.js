var c=t=>new Promise((n,s)=>{let e=document.createElement("link");Object.assign(e,{rel:"stylesheet",href:t,onload:n,onerror:s}),document.head.append(e)});export{c as a};
